#include "models/mobilenetv3.h"

#include "models/rows.h"

#define SE   .squeeze = 0.25
#define RELU .relu = true
#define SAME .same_stage = true

/* clang-format off */
/* Table 1; blocks, kernel, stride, expansion, channels */
static const struct mobile_blocks large[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 16), RELU},
    {MOBILE(INVERTED, 1, 3, 2, 4, 24), RELU},
    {MOBILE(INVERTED, 1, 3, 1, 3, 24), RELU, SAME},
    {MOBILE(INVERTED, 3, 5, 2, 3, 40), RELU, SE},
    {MOBILE(INVERTED, 1, 3, 2, 6, 80)},
    {MOBILE(INVERTED, 1, 3, 1, 2.5, 80), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 2.3, 80), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 6, 112), SE},
    {MOBILE(INVERTED, 3, 5, 2, 6, 160), SE},
    {MOBILE(CONV, 1, 1, 1, 1, 960)},
    {0},
};

/* Table 2 */
static const struct mobile_blocks small[] = {
    {MOBILE(SEPARABLE, 1, 3, 2, 1, 16), RELU, SE},
    {MOBILE(INVERTED, 1, 3, 2, 4.5, 24), RELU},
    {MOBILE(INVERTED, 1, 3, 1, 3.67, 24), RELU, SAME},
    {MOBILE(INVERTED, 1, 5, 2, 4, 40), SE},
    {MOBILE(INVERTED, 2, 5, 1, 6, 40), SE, SAME},
    {MOBILE(INVERTED, 2, 5, 1, 3, 48), SE},
    {MOBILE(INVERTED, 3, 5, 2, 6, 96), SE},
    {MOBILE(CONV, 1, 1, 1, 1, 576)},
    {0},
};

/* `minimal`: kernels of 3, ReLU, and no squeeze and excitation */
static const struct mobile_blocks minimal_large[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 16)},
    {MOBILE(INVERTED, 1, 3, 2, 4, 24)},
    {MOBILE(INVERTED, 1, 3, 1, 3, 24), SAME},
    {MOBILE(INVERTED, 3, 3, 2, 3, 40)},
    {MOBILE(INVERTED, 1, 3, 2, 6, 80)},
    {MOBILE(INVERTED, 1, 3, 1, 2.5, 80), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 2.3, 80), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 6, 112)},
    {MOBILE(INVERTED, 3, 3, 2, 6, 160)},
    {MOBILE(CONV, 1, 1, 1, 1, 960)},
    {0},
};

static const struct mobile_blocks minimal_small[] = {
    {MOBILE(SEPARABLE, 1, 3, 2, 1, 16)},
    {MOBILE(INVERTED, 1, 3, 2, 4.5, 24)},
    {MOBILE(INVERTED, 1, 3, 1, 3.67, 24), SAME},
    {MOBILE(INVERTED, 1, 3, 2, 4, 40)},
    {MOBILE(INVERTED, 2, 3, 1, 6, 40), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 3, 48)},
    {MOBILE(INVERTED, 3, 3, 2, 6, 96)},
    {MOBILE(CONV, 1, 1, 1, 1, 576)},
    {0},
};

/* timm's first version */
static const struct mobile_blocks rw[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 16), RELU, .no_shortcut = true},
    {MOBILE(INVERTED, 1, 3, 2, 4, 24), RELU},
    {MOBILE(INVERTED, 1, 3, 1, 3, 24), RELU, SAME},
    {MOBILE(INVERTED, 3, 5, 2, 3, 40), RELU, SE},
    {MOBILE(INVERTED, 1, 3, 2, 6, 80)},
    {MOBILE(INVERTED, 1, 3, 1, 2.5, 80), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 2.3, 80), SAME},
    {MOBILE(INVERTED, 2, 3, 1, 6, 112), SE},
    {MOBILE(INVERTED, 3, 5, 2, 6, 160), SE},
    {MOBILE(CONV, 1, 1, 1, 1, 960)},
    {0},
};

/* table, width, depth, channels of the first and the last convolution */
#define NET(...)                                                                         \
    .family = &mobilenetv3_family, .classes = 1000, .arch = &(const struct mobile)       \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define V3(...)                                                                          \
    NET(__VA_ARGS__, .act = "hardswish", .squeeze = MOBILE_SQUEEZE_RELU,                 \
        .head = MOBILE_HEAD_POOL_BIAS)
#define TF_V3(...)                                                                       \
    NET(__VA_ARGS__, .act = "hardswish", .squeeze = MOBILE_SQUEEZE_RELU,                 \
        .head = MOBILE_HEAD_POOL_BIAS, MOBILE_TF)
#define TF_MINIMAL(...)                                                                  \
    NET(__VA_ARGS__, .act = "relu", .head = MOBILE_HEAD_POOL_BIAS, MOBILE_TF)
#define RW(...)                                                                          \
    NET(__VA_ARGS__, .act = "hardswish", .squeeze = MOBILE_SQUEEZE_INSIDE,               \
        .head = MOBILE_HEAD_POOL, .eps = 1e-3f)

static const struct model models[] = {
    {ROW(mobilenetv3_large_075), V3(large, 0.75, 1.0, 16, 1280), IMAGENET(224, 0.875), .bilinear = true, TAGS ""},
    {ROW(mobilenetv3_large_100), V3(large, 1.0, 1.0, 16, 1280), IMAGENET(224, 0.875),
     RECIPE "mobilenetv3_large_100.yaml", TAGS "ra_in1k ra4_e3600_r224_in1k miil_in21k_ft_in1k miil_in21k"},
    {ROW(mobilenetv3_large_150d), V3(large, 1.5, 1.2, 24, 1280), HALF(256, 0.95), .bilinear = true,
     TAGS "ra4_e3600_r256_in1k"},
    {ROW(mobilenetv3_small_050), V3(small, 0.5, 1.0, 16, 1024), IMAGENET(224, 0.875), TAGS "lamb_in1k"},
    {ROW(mobilenetv3_small_075), V3(small, 0.75, 1.0, 16, 1024), IMAGENET(224, 0.875), TAGS "lamb_in1k"},
    {ROW(mobilenetv3_small_100), V3(small, 1.0, 1.0, 16, 1024), IMAGENET(224, 0.875), TAGS "lamb_in1k"},
    {ROW(mobilenetv3_rw), RW(rw, 1.0, 1.0, 16, 1280), IMAGENET(224, 0.875), TAGS "rmsp_in1k"},
    {ROW(tf_mobilenetv3_large_075), TF_V3(large, 0.75, 1.0, 16, 1280), HALF(224, 0.875), .bilinear = true,
     TAGS "in1k"},
    {ROW(tf_mobilenetv3_large_100), TF_V3(large, 1.0, 1.0, 16, 1280), HALF(224, 0.875), .bilinear = true,
     TAGS "in1k"},
    {ROW(tf_mobilenetv3_large_minimal_100), TF_MINIMAL(minimal_large, 1.0, 1.0, 16, 1280), HALF(224, 0.875),
     .bilinear = true, TAGS "in1k"},
    {ROW(tf_mobilenetv3_small_075), TF_V3(small, 0.75, 1.0, 16, 1024), HALF(224, 0.875), .bilinear = true,
     TAGS "in1k"},
    {ROW(tf_mobilenetv3_small_100), TF_V3(small, 1.0, 1.0, 16, 1024), HALF(224, 0.875), .bilinear = true,
     TAGS "in1k"},
    {ROW(tf_mobilenetv3_small_minimal_100), TF_MINIMAL(minimal_small, 1.0, 1.0, 16, 1024), HALF(224, 0.875),
     .bilinear = true, TAGS "in1k"},
    {.name = NULL},
};
/* clang-format on */

const struct model_family mobilenetv3_family = {
    .type = "mobilenetv3",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = mobile_reads,
    .layers = mobile_layers_pool,
    .build = mobile_build,
};
