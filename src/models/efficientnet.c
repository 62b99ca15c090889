#include "models/efficientnet.h"

#include "models/rows.h"

/* clang-format off */
/* kind, blocks, kernel, stride, expansion, channels */
static const struct mobile_blocks b[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 16), .squeeze = 0.25},
    {MOBILE(INVERTED, 2, 3, 2, 6, 24), .squeeze = 0.25},
    {MOBILE(INVERTED, 2, 5, 2, 6, 40), .squeeze = 0.25},
    {MOBILE(INVERTED, 3, 3, 2, 6, 80), .squeeze = 0.25},
    {MOBILE(INVERTED, 3, 5, 1, 6, 112), .squeeze = 0.25},
    {MOBILE(INVERTED, 4, 5, 2, 6, 192), .squeeze = 0.25},
    {MOBILE(INVERTED, 1, 3, 1, 6, 320), .squeeze = 0.25},
    {0},
};

static const struct mobile_blocks lite[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 16)},
    {MOBILE(INVERTED, 2, 3, 2, 6, 24)},
    {MOBILE(INVERTED, 2, 5, 2, 6, 40)},
    {MOBILE(INVERTED, 3, 3, 2, 6, 80)},
    {MOBILE(INVERTED, 3, 5, 1, 6, 112)},
    {MOBILE(INVERTED, 4, 5, 2, 6, 192)},
    {MOBILE(INVERTED, 1, 3, 1, 6, 320)},
    {0},
};

static const struct mobile_blocks v2_b[] = {
    {MOBILE(CONV, 1, 3, 1, 1, 16)},
    {MOBILE(FUSED, 2, 3, 2, 4, 32)},
    {MOBILE(FUSED, 2, 3, 2, 4, 48)},
    {MOBILE(INVERTED, 3, 3, 2, 4, 96), .squeeze = 0.25},
    {MOBILE(INVERTED, 5, 3, 1, 6, 112), .squeeze = 0.25},
    {MOBILE(INVERTED, 8, 3, 2, 6, 192), .squeeze = 0.25},
    {0},
};

static const struct mobile_blocks v2_s[] = {
    {MOBILE(CONV, 2, 3, 1, 1, 24)},
    {MOBILE(FUSED, 4, 3, 2, 4, 48)},
    {MOBILE(FUSED, 4, 3, 2, 4, 64)},
    {MOBILE(INVERTED, 6, 3, 2, 4, 128), .squeeze = 0.25},
    {MOBILE(INVERTED, 9, 3, 1, 6, 160), .squeeze = 0.25},
    {MOBILE(INVERTED, 15, 3, 2, 6, 256), .squeeze = 0.25},
    {0},
};

static const struct mobile_blocks v2_m[] = {
    {MOBILE(CONV, 3, 3, 1, 1, 24)},
    {MOBILE(FUSED, 5, 3, 2, 4, 48)},
    {MOBILE(FUSED, 5, 3, 2, 4, 80)},
    {MOBILE(INVERTED, 7, 3, 2, 4, 160), .squeeze = 0.25},
    {MOBILE(INVERTED, 14, 3, 1, 6, 176), .squeeze = 0.25},
    {MOBILE(INVERTED, 18, 3, 2, 6, 304), .squeeze = 0.25},
    {MOBILE(INVERTED, 5, 3, 1, 6, 512), .squeeze = 0.25},
    {0},
};

static const struct mobile_blocks v2_l[] = {
    {MOBILE(CONV, 4, 3, 1, 1, 32)},
    {MOBILE(FUSED, 7, 3, 2, 4, 64)},
    {MOBILE(FUSED, 7, 3, 2, 4, 96)},
    {MOBILE(INVERTED, 10, 3, 2, 4, 192), .squeeze = 0.25},
    {MOBILE(INVERTED, 19, 3, 1, 6, 224), .squeeze = 0.25},
    {MOBILE(INVERTED, 25, 3, 2, 6, 384), .squeeze = 0.25},
    {MOBILE(INVERTED, 7, 3, 1, 6, 640), .squeeze = 0.25},
    {0},
};

static const struct mobile_blocks v2_xl[] = {
    {MOBILE(CONV, 4, 3, 1, 1, 32)},
    {MOBILE(FUSED, 8, 3, 2, 4, 64)},
    {MOBILE(FUSED, 8, 3, 2, 4, 96)},
    {MOBILE(INVERTED, 16, 3, 2, 4, 192), .squeeze = 0.25},
    {MOBILE(INVERTED, 24, 3, 1, 6, 256), .squeeze = 0.25},
    {MOBILE(INVERTED, 32, 3, 2, 6, 512), .squeeze = 0.25},
    {MOBILE(INVERTED, 8, 3, 1, 6, 640), .squeeze = 0.25},
    {0},
};

/* timm's EfficientNetV2-S before its authors published theirs */
static const struct mobile_blocks v2_rw_s[] = {
    {MOBILE(FUSED, 2, 3, 1, 1, 24)},
    {MOBILE(FUSED, 4, 3, 2, 4, 48)},
    {MOBILE(FUSED, 4, 3, 2, 4, 64)},
    {MOBILE(INVERTED, 6, 3, 2, 4, 128), .squeeze = 0.25},
    {MOBILE(INVERTED, 9, 3, 1, 6, 160), .squeeze = 0.25},
    {MOBILE(INVERTED, 15, 3, 2, 6, 272), .squeeze = 0.25},
    {0},
};

/* the same, scaled by 1.2, its last two stages by 1.6 */
static const struct mobile_blocks v2_rw_m[] = {
    {MOBILE(FUSED, 3, 3, 1, 1, 24)},
    {MOBILE(FUSED, 5, 3, 2, 4, 48)},
    {MOBILE(FUSED, 5, 3, 2, 4, 64)},
    {MOBILE(INVERTED, 8, 3, 2, 4, 128), .squeeze = 0.25},
    {MOBILE(INVERTED, 15, 3, 1, 6, 160), .squeeze = 0.25},
    {MOBILE(INVERTED, 24, 3, 2, 6, 272), .squeeze = 0.25},
    {0},
};

static const struct mobile_blocks test[] = {
    {MOBILE(CONV, 1, 3, 1, 1, 16)},
    {MOBILE(FUSED, 1, 3, 2, 4, 24)},
    {MOBILE(FUSED, 1, 3, 2, 4, 32)},
    {MOBILE(INVERTED, 1, 3, 2, 4, 48), .squeeze = 0.25},
    {MOBILE(INVERTED, 1, 3, 2, 4, 64), .squeeze = 0.25},
    {0},
};

#define NET(...)                                                                         \
    .family = &efficientnet_family, .classes = 1000, .arch = &(const struct mobile)      \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
/* width, depth, channels of the first and the last convolution */
#define B(...)    NET(b, __VA_ARGS__, .act = "silu")
#define TF_B(...) NET(b, __VA_ARGS__, .act = "silu", MOBILE_TF)
#define LITE(w, d)                                                                       \
    NET(lite, w, d, 32, 1280, .act = "relu", .act_number = 6, .fixed_ends = true)
#define TF_LITE(w, d)                                                                    \
    NET(lite, w, d, 32, 1280, .act = "relu", .act_number = 6, .fixed_ends = true, MOBILE_TF)
#define V2(blocks, ...)    NET(blocks, __VA_ARGS__, .act = "silu")
#define TF_V2(blocks, ...) NET(blocks, __VA_ARGS__, .act = "silu", MOBILE_TF)
#define TF_V2_B(...)       NET(v2_b, __VA_ARGS__, .act = "silu", MOBILE_TF, .rounds_down = true)

static const struct model models[] = {
    {ROW(efficientnet_b0), B(1.0, 1.0, 32, 1280), IMAGENET(224, 0.875), RECIPE "efficientnet_b0.yaml",
     TAGS "ra_in1k ra4_e3600_r224_in1k"},
    {ROW(efficientnet_b1), B(1.0, 1.1, 32, 1280), HALF(240, 0.9), TAGS "ra4_e3600_r240_in1k ft_in1k"},
    {ROW(efficientnet_b2), B(1.1, 1.2, 32, 1408), IMAGENET(256, 0.875), TAGS "ra_in1k"},
    {ROW(efficientnet_b3), B(1.2, 1.4, 40, 1536), IMAGENET(288, 0.875), TAGS "ra2_in1k"},
    {ROW(efficientnet_b4), B(1.4, 1.8, 48, 1792), IMAGENET(320, 0.875), TAGS "ra2_in1k"},
    {ROW(efficientnet_b5), B(1.6, 2.2, 48, 2048), IMAGENET(448, 1.0), TAGS "sw_in12k_ft_in1k sw_in12k"},
    {ROW(efficientnet_b6), B(1.8, 2.6, 56, 2304), IMAGENET(528, 0.942), TAGS ""},
    {ROW(efficientnet_b7), B(2.0, 3.1, 64, 2560), IMAGENET(600, 0.949), TAGS ""},
    {ROW(efficientnet_b8), B(2.2, 3.6, 72, 2816), IMAGENET(672, 0.954), TAGS ""},
    {ROW(efficientnet_l2), B(4.3, 5.3, 136, 5504), IMAGENET(800, 0.961), TAGS ""},
    {ROW(tf_efficientnet_b0), TF_B(1.0, 1.0, 32, 1280), IMAGENET(224, 0.875),
     TAGS "ns_jft_in1k ap_in1k aa_in1k in1k"},
    {ROW(tf_efficientnet_b1), TF_B(1.0, 1.1, 32, 1280), IMAGENET(240, 0.882),
     TAGS "ns_jft_in1k ap_in1k aa_in1k in1k"},
    {ROW(tf_efficientnet_b2), TF_B(1.1, 1.2, 32, 1408), IMAGENET(260, 0.89),
     TAGS "ns_jft_in1k ap_in1k aa_in1k in1k"},
    {ROW(tf_efficientnet_b3), TF_B(1.2, 1.4, 40, 1536), IMAGENET(300, 0.904),
     TAGS "ns_jft_in1k ap_in1k aa_in1k in1k"},
    {ROW(tf_efficientnet_b4), TF_B(1.4, 1.8, 48, 1792), IMAGENET(380, 0.922),
     TAGS "ns_jft_in1k ap_in1k aa_in1k in1k"},
    {ROW(tf_efficientnet_b5), TF_B(1.6, 2.2, 48, 2048), IMAGENET(456, 0.934),
     TAGS "ns_jft_in1k ap_in1k ra_in1k aa_in1k in1k"},
    {ROW(tf_efficientnet_b6), TF_B(1.8, 2.6, 56, 2304), IMAGENET(528, 0.942),
     TAGS "ns_jft_in1k ap_in1k aa_in1k"},
    {ROW(tf_efficientnet_b7), TF_B(2.0, 3.1, 64, 2560), IMAGENET(600, 0.949),
     TAGS "ns_jft_in1k ap_in1k ra_in1k aa_in1k"},
    {ROW(tf_efficientnet_b8), TF_B(2.2, 3.6, 72, 2816), HALF(672, 0.954), TAGS "ap_in1k ra_in1k"},
    {ROW(tf_efficientnet_l2), TF_B(4.3, 5.3, 136, 5504), IMAGENET(475, 0.936),
     TAGS "ns_jft_in1k_475 ns_jft_in1k"},

    {ROW(efficientnet_lite0), LITE(1.0, 1.0), IMAGENET(224, 0.875), TAGS "ra_in1k"},
    {ROW(efficientnet_lite1), LITE(1.0, 1.1), IMAGENET(240, 0.882), TAGS ""},
    {ROW(efficientnet_lite2), LITE(1.1, 1.2), IMAGENET(260, 0.89), TAGS ""},
    {ROW(efficientnet_lite3), LITE(1.2, 1.4), IMAGENET(300, 0.904), TAGS ""},
    {ROW(efficientnet_lite4), LITE(1.4, 1.8), IMAGENET(380, 0.922), TAGS ""},
    {ROW(tf_efficientnet_lite0), TF_LITE(1.0, 1.0), HALF(224, 0.875), TAGS "in1k"},
    {ROW(tf_efficientnet_lite1), TF_LITE(1.0, 1.1), HALF(240, 0.882), TAGS "in1k"},
    {ROW(tf_efficientnet_lite2), TF_LITE(1.1, 1.2), HALF(260, 0.89), TAGS "in1k"},
    {ROW(tf_efficientnet_lite3), TF_LITE(1.2, 1.4), HALF(300, 0.904), .bilinear = true, TAGS "in1k"},
    {ROW(tf_efficientnet_lite4), TF_LITE(1.4, 1.8), HALF(380, 0.92), .bilinear = true, TAGS "in1k"},

    {ROW(efficientnetv2_s), V2(v2_s, 1.0, 1.0, 24, 1280), IMAGENET(288, 1.0), TAGS ""},
    {ROW(efficientnetv2_m), V2(v2_m, 1.0, 1.0, 24, 1280), IMAGENET(320, 1.0), TAGS ""},
    {ROW(efficientnetv2_l), V2(v2_l, 1.0, 1.0, 32, 1280), IMAGENET(384, 1.0), TAGS ""},
    {ROW(efficientnetv2_xl), V2(v2_xl, 1.0, 1.0, 32, 1280), IMAGENET(384, 1.0), TAGS ""},
    {ROW(tf_efficientnetv2_s), TF_V2(v2_s, 1.0, 1.0, 24, 1280), HALF(300, 1.0), TAGS "in21k_ft_in1k in1k in21k"},
    {ROW(tf_efficientnetv2_m), TF_V2(v2_m, 1.0, 1.0, 24, 1280), HALF(384, 1.0), TAGS "in21k_ft_in1k in1k in21k"},
    {ROW(tf_efficientnetv2_l), TF_V2(v2_l, 1.0, 1.0, 32, 1280), HALF(384, 1.0), TAGS "in21k_ft_in1k in1k in21k"},
    {ROW(tf_efficientnetv2_xl), TF_V2(v2_xl, 1.0, 1.0, 32, 1280), HALF(384, 1.0), TAGS "in21k_ft_in1k in21k"},
    {ROW(tf_efficientnetv2_b0), TF_V2_B(1.0, 1.0, 32, 1280), IMAGENET(192, 0.875), TAGS "in1k"},
    {ROW(tf_efficientnetv2_b1), TF_V2_B(1.0, 1.1, 32, 1280), IMAGENET(192, 0.882), TAGS "in1k"},
    {ROW(tf_efficientnetv2_b2), TF_V2_B(1.1, 1.2, 32, 1408), IMAGENET(208, 0.89), TAGS "in1k"},
    {ROW(tf_efficientnetv2_b3), TF_V2_B(1.2, 1.4, 40, 1536), HALF(240, 0.9), TAGS "in21k_ft_in1k in1k in21k"},
    {ROW(efficientnetv2_rw_t), V2(v2_s, 0.8, 0.9, 24, 1024), IMAGENET(224, 1.0), TAGS "ra2_in1k"},
    {ROW(efficientnetv2_rw_s), V2(v2_rw_s, 1.0, 1.0, 24, 1792), IMAGENET(288, 1.0), TAGS "ra2_in1k"},
    {ROW(efficientnetv2_rw_m), V2(v2_rw_m, 1.2, 1.0, 32, 2152), IMAGENET(320, 1.0), TAGS "agc_in1k"},

    {ROW(test_efficientnet), NET(test, 1.0, 1.0, 24, 256, .act = "silu", .rounds_down = true), IMAGENET(160, 0.95),
     TAGS "r160_in1k"},
    {.name = NULL},
};
/* clang-format on */

const struct model_family efficientnet_family = {
    .type = "efficientnet",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = mobile_reads,
    .layers = mobile_layers_conv,
    .build = mobile_build,
};
