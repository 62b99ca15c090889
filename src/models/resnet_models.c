/* The models of the ResNet family. */
#include "models/resnet.h"
#include "models/rows.h"

#define RESNET(...)                                                                      \
    .family = &resnet_family, .classes = 1000, .arch = &(const struct resnet)            \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define BASIC      .block = "BBBB", .planes = {64, 128, 256, 512}
#define BOTTLENECK .block = "NNNN", .planes = {64, 128, 256, 512}
#define DEPTH(...) .depth = {__VA_ARGS__}
#define D          .stem = RESNET_STEM_DEEP, .shortcut = RESNET_SHORTCUT_AVG
#define T          .stem = RESNET_STEM_TIERED, .shortcut = RESNET_SHORTCUT_AVG
#define C          .stem = RESNET_STEM_DEEP
#define S          .stem = RESNET_STEM_DEEP64
#define X(g, w)    .groups = (g), .base = (w)
#define SE         .se = 16
#define ECA        .eca = true
#define RS         D, .se = 4, .conv_pool = true
#define AA         .smooth = RESNET_SMOOTH_AVG
#define BLUR       .smooth = RESNET_SMOOTH_BLUR
#define SK(r, d)   .selective = {(r), (d), true}

#define CIFAR(n)                                                                         \
    .family = &resnet_family, .tags = "", .classes = 10, .size = 32, .crop_pct = 1,      \
    .mean = {0.4914, 0.4822, 0.4465}, .std = {0.2470, 0.2435, 0.2616},                   \
    .arch = &(const struct resnet)                                                       \
    {                                                                                    \
        .block = "BBB", .planes = {16, 32, 64}, .depth = {(n), (n), (n)},                \
        .stem = RESNET_STEM_3X3, .shortcut = RESNET_SHORTCUT_PAD, .cifar = true          \
    }

/* clang-format off */
const struct model resnet_models[] = {
    {ROW(resnet18), RESNET(BASIC, DEPTH(2, 2, 2, 2)), IMAGENET(224, 0.95), RECIPE "resnet18.yaml",
     TAGS "a1_in1k a2_in1k a3_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k gluon_in1k tv_in1k"},
    {ROW(resnet34), RESNET(BASIC, DEPTH(3, 4, 6, 3)), IMAGENET(224, 0.95), RECIPE "resnet34.yaml",
     TAGS "a1_in1k a2_in1k a3_in1k bt_in1k gluon_in1k ra4_e3600_r224_in1k tv_in1k"},
    {ROW(resnet50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3)), IMAGENET(224, 0.95), RECIPE "resnet50.yaml",
     TAGS "a1_in1k a1h_in1k a2_in1k a3_in1k am_in1k b1k_in1k b2k_in1k bamboo bt_in1k c1_in1k c2_in1k "
     "d_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k gluon_in1k ra_in1k ram_in1k tv2_in1k tv_in1k"},
    {ROW(resnet101), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3)), IMAGENET(224, 0.95), RECIPE "resnet101.yaml",
     TAGS "a1h_in1k a1_in1k a2_in1k a3_in1k gluon_in1k tv2_in1k tv_in1k"},
    {ROW(resnet152), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3)), IMAGENET(224, 0.95), RECIPE "resnet152.yaml",
     TAGS "a1h_in1k a1_in1k a2_in1k a3_in1k gluon_in1k tv2_in1k tv_in1k"},

    {ROW(resnet18d), RESNET(BASIC, DEPTH(2, 2, 2, 2), D), IMAGENET(224, 0.875), RECIPE "resnet18d.yaml",
     TAGS "ra2_in1k ra4_e3600_r224_in1k"},
    {ROW(resnet34d), RESNET(BASIC, DEPTH(3, 4, 6, 3), D), IMAGENET(224, 0.875), RECIPE "resnet34d.yaml",
     TAGS "ra2_in1k"},
    {ROW(resnet50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D), IMAGENET(224, 0.875), RECIPE "resnet50d.yaml",
     TAGS "ra2_in1k a1_in1k a2_in1k a3_in1k gluon_in1k ra4_e3600_r224_in1k"},
    {ROW(resnet101d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D), IMAGENET(256, 0.95), RECIPE "resnet101d.yaml",
     TAGS "ra2_in1k gluon_in1k"},
    {ROW(resnet152d), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), D), IMAGENET(256, 0.95), RECIPE "resnet152d.yaml",
     TAGS "ra2_in1k gluon_in1k"},
    {ROW(resnet50c), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), C), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet50s), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), S), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet50t), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), T), IMAGENET(224, 0.875), TAGS ""},
    {ROW(resnet10t), RESNET(BASIC, DEPTH(1, 1, 1, 1), T), IMAGENET(176, 0.875), TAGS "c3_in1k"},
    {ROW(resnet14t), RESNET(BOTTLENECK, DEPTH(1, 1, 1, 1), T), IMAGENET(176, 0.875), TAGS "c3_in1k"},
    {ROW(resnet26), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2)), IMAGENET(224, 0.875), TAGS "bt_in1k"},
    {ROW(resnet26d), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), D), IMAGENET(224, 0.875), TAGS "bt_in1k"},
    {ROW(resnet26t), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), T), IMAGENET(256, 0.94), TAGS "ra2_in1k"},

    {ROW(resnext50_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), X(32, 4)), IMAGENET(224, 0.95),
     RECIPE "resnext50_32x4d.yaml", TAGS "a1h_in1k a1_in1k a2_in1k a3_in1k fb_ssl_yfcc100m_ft_in1k "
     "fb_swsl_ig1b_ft_in1k gluon_in1k ra_in1k tv2_in1k tv_in1k"},
    {ROW(resnext50d_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "bt_in1k"},
    {ROW(resnext101_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(32, 4)), IMAGENET(224, 0.875),
     .bilinear = true, TAGS "fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k gluon_in1k"},
    {ROW(resnext101_32x8d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(32, 8)), IMAGENET(224, 0.875),
     .bilinear = true, RECIPE "resnext101_32x8d.yaml",
     TAGS "tv_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k fb_wsl_ig1b_ft_in1k tv2_in1k"},
    {ROW(resnext101_64x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(64, 4)), IMAGENET(224, 0.95),
     TAGS "c1_in1k gluon_in1k tv_in1k"},
    {ROW(wide_resnet50_2), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), X(1, 128)), IMAGENET(224, 0.875),
     RECIPE "wide_resnet50_2.yaml", TAGS "racm_in1k tv2_in1k tv_in1k"},
    {ROW(wide_resnet101_2), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(1, 128)), IMAGENET(224, 0.875),
     .bilinear = true, RECIPE "wide_resnet101_2.yaml", TAGS "tv_in1k tv2_in1k"},

    {ROW(seresnet18), RESNET(BASIC, DEPTH(2, 2, 2, 2), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet34), RESNET(BASIC, DEPTH(3, 4, 6, 3), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), SE), IMAGENET(224, 0.95), RECIPE "seresnet50.yaml",
     TAGS "a1_in1k a2_in1k a3_in1k ra2_in1k"},
    {ROW(seresnet101), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet152), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnext26d_32x4d), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), D, SE, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "bt_in1k"},
    {ROW(seresnext50_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), SE, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "racm_in1k gluon_in1k"},

    {ROW(resnet101c), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), C), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet152c), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), C), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet101s), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), S), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet152s), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), S), IMAGENET(224, 0.875), TAGS "gluon_in1k"},
    {ROW(resnet200), RESNET(BOTTLENECK, DEPTH(3, 24, 36, 3)), IMAGENET(224, 0.875), TAGS ""},
    {ROW(resnet200d), RESNET(BOTTLENECK, DEPTH(3, 24, 36, 3), D), IMAGENET(256, 0.95), TAGS "ra2_in1k"},
    {ROW(resnet50_gn), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), .norm_groups = 32), IMAGENET(224, 0.94),
     TAGS "a1h_in1k"},
    {ROW(resnext101_32x16d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(32, 16)), IMAGENET(224, 0.875), .bilinear = true,
     TAGS "fb_wsl_ig1b_ft_in1k fb_ssl_yfcc100m_ft_in1k fb_swsl_ig1b_ft_in1k"},
    {ROW(resnext101_32x32d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), X(32, 32)), IMAGENET(224, 0.875), .bilinear = true,
     TAGS "fb_wsl_ig1b_ft_in1k"},

    {ROW(seresnet50t), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), T, SE), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnet152d), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), D, SE), IMAGENET(256, 0.95), TAGS "ra2_in1k"},
    {ROW(seresnet200d), RESNET(BOTTLENECK, DEPTH(3, 24, 36, 3), D, SE), IMAGENET(256, 0.875), TAGS ""},
    {ROW(seresnet269d), RESNET(BOTTLENECK, DEPTH(3, 30, 48, 8), D, SE), IMAGENET(256, 0.875), TAGS ""},
    {ROW(seresnext26t_32x4d), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), T, SE, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "bt_in1k"},
    {ROW(seresnext101_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), SE, X(32, 4)), IMAGENET(224, 0.875),
     TAGS "gluon_in1k"},
    {ROW(seresnext101_32x8d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), SE, X(32, 8)), IMAGENET(224, 0.95),
     TAGS "ah_in1k"},
    {ROW(seresnext101_64x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), SE, X(64, 4)), IMAGENET(224, 0.875),
     TAGS "gluon_in1k"},
    {ROW(seresnext101d_32x8d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D, SE, X(32, 8)), IMAGENET(224, 0.95),
     TAGS "ah_in1k"},
    {ROW(senet154), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), S, SE, X(64, 4), .shortcut_3x3 = true, .reduce = 2), IMAGENET(224, 0.875),
     TAGS "gluon_in1k"},

    {ROW(ecaresnet26t), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), T, ECA), IMAGENET(256, 0.875), TAGS "ra2_in1k"},
    {ROW(ecaresnet50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, ECA), IMAGENET(224, 0.875), TAGS "miil_in1k"},
    {ROW(ecaresnet50t), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), T, ECA), IMAGENET(256, 0.875),
     TAGS "ra2_in1k a1_in1k a2_in1k a3_in1k"},
    {ROW(ecaresnet101d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D, ECA), IMAGENET(224, 0.875), TAGS "miil_in1k"},
    {ROW(ecaresnet200d), RESNET(BOTTLENECK, DEPTH(3, 24, 36, 3), D, ECA), IMAGENET(256, 0.95), TAGS ""},
    {ROW(ecaresnet269d), RESNET(BOTTLENECK, DEPTH(3, 30, 48, 8), D, ECA), IMAGENET(320, 0.95), TAGS "ra2_in1k"},
    {ROW(ecaresnetlight), RESNET(BOTTLENECK, DEPTH(1, 1, 11, 3), .shortcut = RESNET_SHORTCUT_AVG, ECA), IMAGENET(224, 0.875),
     TAGS "miil_in1k"},
    {ROW(ecaresnext26t_32x4d), RESNET(BOTTLENECK, DEPTH(2, 2, 2, 2), T, ECA, X(32, 4)), IMAGENET(224, 0.875),
     TAGS ""},
    {ROW(ecaresnext50t_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), T, ECA, X(32, 4)), IMAGENET(224, 0.875),
     TAGS ""},

    {ROW(resnetaa34d), RESNET(BASIC, DEPTH(3, 4, 6, 3), D, AA), IMAGENET(224, 0.875), TAGS ""},
    {ROW(resnetaa50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), AA), IMAGENET(224, 0.95), TAGS "a1h_in1k"},
    {ROW(resnetaa50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, AA), IMAGENET(224, 0.95),
     TAGS "sw_in12k_ft_in1k sw_in12k d_in12k"},
    {ROW(resnetaa101d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D, AA), IMAGENET(224, 0.95),
     TAGS "sw_in12k_ft_in1k sw_in12k"},

    {ROW(seresnetaa50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, SE, AA), IMAGENET(224, 0.875), TAGS ""},
    {ROW(seresnextaa101d_32x8d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D, SE, AA, X(32, 8)), IMAGENET(288, 0.95),
     TAGS "sw_in12k_ft_in1k_288 sw_in12k_ft_in1k sw_in12k ah_in1k"},
    {ROW(seresnextaa201d_32x8d), RESNET(BOTTLENECK, DEPTH(3, 24, 36, 4), S, .shortcut = RESNET_SHORTCUT_AVG, SE, AA, X(32, 8)), IMAGENET(384, 1.0),
     TAGS "sw_in12k_ft_in1k_384 sw_in12k"},

    {ROW(resnetblur18), RESNET(BASIC, DEPTH(2, 2, 2, 2), BLUR), IMAGENET(224, 0.875), TAGS ""},
    {ROW(resnetblur50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), BLUR), IMAGENET(224, 0.875), TAGS "bt_in1k"},
    {ROW(resnetblur50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, BLUR), IMAGENET(224, 0.875), TAGS ""},
    {ROW(resnetblur101d), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), D, BLUR), IMAGENET(224, 0.875), TAGS ""},

    {ROW(resnetrs50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), RS), IMAGENET(160, 0.91), TAGS "tf_in1k"},
    {ROW(resnetrs101), RESNET(BOTTLENECK, DEPTH(3, 4, 23, 3), RS), IMAGENET(192, 0.94), TAGS "tf_in1k"},
    {ROW(resnetrs152), RESNET(BOTTLENECK, DEPTH(3, 8, 36, 3), RS), IMAGENET(256, 1.0), TAGS "tf_in1k"},
    {ROW(resnetrs200), RESNET(BOTTLENECK, DEPTH(3, 24, 36, 3), RS), IMAGENET(256, 1.0), TAGS "tf_in1k"},
    {ROW(resnetrs270), RESNET(BOTTLENECK, DEPTH(4, 29, 53, 4), RS), IMAGENET(256, 1.0), TAGS "tf_in1k"},
    {ROW(resnetrs350), RESNET(BOTTLENECK, DEPTH(4, 36, 72, 4), RS), IMAGENET(288, 1.0), TAGS "tf_in1k"},
    {ROW(resnetrs420), RESNET(BOTTLENECK, DEPTH(4, 44, 87, 4), RS), IMAGENET(320, 1.0), TAGS "tf_in1k"},

    {ROW(skresnet18), RESNET(BASIC, DEPTH(2, 2, 2, 2), SK(8, 16)), IMAGENET(224, 0.875), TAGS "ra_in1k"},
    {ROW(skresnet34), RESNET(BASIC, DEPTH(3, 4, 6, 3), SK(8, 16)), IMAGENET(224, 0.875), TAGS "ra_in1k"},
    {ROW(skresnet50), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), SK(16, 8)), IMAGENET(224, 0.875), TAGS ""},
    {ROW(skresnet50d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), D, SK(16, 8)), IMAGENET(224, 0.875), TAGS ""},
    {ROW(skresnext50_32x4d), RESNET(BOTTLENECK, DEPTH(3, 4, 6, 3), X(32, 4), .selective = {16, 32, false}), IMAGENET(224, 0.875),
     TAGS "ra_in1k"},

    {ROW(test_resnet), RESNET(.block = "BBNB", .planes = {32, 48, 48, 96}, DEPTH(1, 1, 1, 1), D),
     .size = 160, .crop_pct = 0.95, .bilinear = true, .mean = {0.5, 0.5, 0.5}, .std = {0.5, 0.5, 0.5},
     TAGS "r160_in1k"},

    {ROW(resnet20), CIFAR(3), RECIPE "cifar10/resnet20.yaml"},
    {ROW(resnet32), CIFAR(5), RECIPE "cifar10/resnet32.yaml"},
    {ROW(resnet44), CIFAR(7), RECIPE "cifar10/resnet44.yaml"},
    {ROW(resnet56), CIFAR(9), RECIPE "cifar10/resnet56.yaml"},
    {ROW(resnet110), CIFAR(18), RECIPE "cifar10/resnet110.yaml"},
    {.name = NULL},
};
/* clang-format on */
