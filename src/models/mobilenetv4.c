#include "models/mobilenetv4.h"

#include "models/rows.h"

/* The paper's blocks, with the kernels of their depthwise convolutions: blocks, kernels,
 * stride, expansion, channels. */
#define EXTRA_DW(n, a, k, s, e, c) MOBILE(UNIVERSAL, n, k, s, e, c), .start = (a)
#define IR(n, k, e, c)             MOBILE(UNIVERSAL, n, k, 1, e, c)
#define CONVNEXT(n, a, e, c)       MOBILE(UNIVERSAL, n, 0, 1, e, c), .start = (a)
#define FFN(n, e, c)               MOBILE(UNIVERSAL, n, 0, 1, e, c)
#define FUSED_IB(s, e, c)          MOBILE(FUSED, 1, 3, s, e, c)
/* kernel, stride, channels */
#define CONV(k, s, c) MOBILE(CONV, 1, k, s, 1, c), .no_shortcut = true
#define SAME          .same_stage = true

/* clang-format off */
/* Tables 10 to 12 */
static const struct mobile_blocks small[] = {
    {CONV(3, 2, 32)},
    {CONV(1, 1, 32), SAME},
    {CONV(3, 2, 96)},
    {CONV(1, 1, 64), SAME},
    {EXTRA_DW(1, 5, 5, 2, 3, 96)},
    {IR(4, 3, 2, 96), SAME},
    {CONVNEXT(1, 3, 4, 96), SAME},
    {EXTRA_DW(1, 3, 3, 2, 6, 128)},
    {EXTRA_DW(1, 5, 5, 1, 4, 128), SAME},
    {IR(1, 5, 4, 128), SAME},
    {IR(1, 5, 3, 128), SAME},
    {IR(2, 3, 4, 128), SAME},
    {CONV(1, 1, 960)},
    {0},
};

static const struct mobile_blocks medium[] = {
    {FUSED_IB(2, 4, 48)},
    {EXTRA_DW(1, 3, 5, 2, 4, 80)},
    {EXTRA_DW(1, 3, 3, 1, 2, 80), SAME},
    {EXTRA_DW(1, 3, 5, 2, 6, 160)},
    {EXTRA_DW(2, 3, 3, 1, 4, 160), SAME},
    {EXTRA_DW(1, 3, 5, 1, 4, 160), SAME},
    {EXTRA_DW(1, 3, 3, 1, 4, 160), SAME},
    {CONVNEXT(1, 3, 4, 160), SAME},
    {FFN(1, 2, 160), SAME},
    {CONVNEXT(1, 3, 4, 160), SAME},
    {EXTRA_DW(1, 5, 5, 2, 6, 256)},
    {EXTRA_DW(1, 5, 5, 1, 4, 256), SAME},
    {EXTRA_DW(2, 3, 5, 1, 4, 256), SAME},
    {FFN(1, 4, 256), SAME},
    {CONVNEXT(1, 3, 4, 256), SAME},
    {EXTRA_DW(1, 3, 5, 1, 2, 256), SAME},
    {EXTRA_DW(1, 5, 5, 1, 4, 256), SAME},
    {FFN(2, 4, 256), SAME},
    {CONVNEXT(1, 5, 2, 256), SAME},
    {CONV(1, 1, 960)},
    {0},
};

static const struct mobile_blocks large[] = {
    {FUSED_IB(2, 4, 48)},
    {EXTRA_DW(1, 3, 5, 2, 4, 96)},
    {EXTRA_DW(1, 3, 3, 1, 4, 96), SAME},
    {EXTRA_DW(1, 3, 5, 2, 4, 192)},
    {EXTRA_DW(3, 3, 3, 1, 4, 192), SAME},
    {EXTRA_DW(1, 3, 5, 1, 4, 192), SAME},
    {EXTRA_DW(5, 5, 3, 1, 4, 192), SAME},
    {CONVNEXT(1, 3, 4, 192), SAME},
    {EXTRA_DW(4, 5, 5, 2, 4, 512)},
    {CONVNEXT(1, 5, 4, 512), SAME},
    {EXTRA_DW(1, 5, 3, 1, 4, 512), SAME},
    {CONVNEXT(2, 5, 4, 512), SAME},
    {EXTRA_DW(1, 5, 3, 1, 4, 512), SAME},
    {EXTRA_DW(1, 5, 5, 1, 4, 512), SAME},
    {CONVNEXT(3, 5, 4, 512), SAME},
    {CONV(1, 1, 960)},
    {0},
};

/* table, width, channels of the first convolution */
#define NET(blocks, w, c)                                                                \
    .family = &mobilenetv4_family, .classes = 1000, .arch = &(const struct mobile)       \
    {                                                                                    \
        (blocks), (w), 1, (c), 1280, .act = "relu", .head = MOBILE_HEAD_POOL_NORM        \
    }

static const struct model models[] = {
    {ROW(mobilenetv4_conv_small_035), NET(small, 0.35, 32), HALF(224, 0.875), TAGS ""},
    {ROW(mobilenetv4_conv_small_050), NET(small, 0.5, 32), HALF(224, 0.875), TAGS "e3000_r224_in1k"},
    {ROW(mobilenetv4_conv_small), NET(small, 1.0, 32), IMAGENET(224, 0.875),
     TAGS "e2400_r224_in1k e1200_r224_in1k e3600_r256_in1k"},
    {ROW(mobilenetv4_conv_medium), NET(medium, 1.0, 32), IMAGENET(256, 0.95),
     TAGS "e500_r256_in1k e500_r224_in1k e250_r384_in12k_ft_in1k e180_r384_in12k e180_ad_r384_in12k "
     "e250_r384_in12k"},
    {ROW(mobilenetv4_conv_large), NET(large, 1.0, 24), IMAGENET(384, 0.95), TAGS "e600_r384_in1k e500_r256_in1k"},
    {.name = NULL},
};
/* clang-format on */

const struct model_family mobilenetv4_family = {
    .type = "mobilenetv4",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = mobile_reads,
    .layers = mobile_layers_pool,
    .build = mobile_build,
};
