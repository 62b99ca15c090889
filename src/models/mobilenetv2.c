#include "models/mobilenetv2.h"

#include "models/rows.h"

/* Table 2; blocks, kernel, stride, expansion, channels */
static const struct mobile_blocks blocks[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 16)}, {MOBILE(INVERTED, 2, 3, 2, 6, 24)},
    {MOBILE(INVERTED, 3, 3, 2, 6, 32)},  {MOBILE(INVERTED, 4, 3, 2, 6, 64)},
    {MOBILE(INVERTED, 3, 3, 1, 6, 96)},  {MOBILE(INVERTED, 3, 3, 2, 6, 160)},
    {MOBILE(INVERTED, 1, 3, 1, 6, 320)}, {0},
};

/* width, depth, channels of the first and the last convolution */
#define NET(...)                                                                         \
    .family = &mobilenetv2_family, .classes = 1000, .arch = &(const struct mobile)       \
    {                                                                                    \
        blocks, __VA_ARGS__, .act = "relu", .act_number = 6, .fixed_ends = true          \
    }

/* clang-format off */
static const struct model models[] = {
    {ROW(mobilenetv2_035), NET(0.35, 1.0, 16, 1280), IMAGENET(224, 0.875), TAGS ""},
    {ROW(mobilenetv2_050), NET(0.5, 1.0, 16, 1280), IMAGENET(224, 0.875), TAGS "lamb_in1k"},
    {ROW(mobilenetv2_075), NET(0.75, 1.0, 24, 1280), IMAGENET(224, 0.875), TAGS ""},
    {ROW(mobilenetv2_100), NET(1.0, 1.0, 32, 1280), IMAGENET(224, 0.875), RECIPE "mobilenetv2_100.yaml",
     TAGS "ra_in1k"},
    {ROW(mobilenetv2_140), NET(1.4, 1.0, 48, 1792), IMAGENET(224, 0.875), TAGS "ra_in1k"},
    {ROW(mobilenetv2_110d), NET(1.1, 1.2, 32, 1280), IMAGENET(224, 0.875), TAGS "ra_in1k"},
    {ROW(mobilenetv2_120d), NET(1.2, 1.4, 32, 1280), IMAGENET(224, 0.875), TAGS "ra_in1k"},
    {.name = NULL},
};
/* clang-format on */

const struct model_family mobilenetv2_family = {
    .type = "mobilenetv2",
    .task = MODEL_CLASSIFY,
    .models = models,
    .reads = mobile_reads,
    .layers = mobile_layers_conv,
    .build = mobile_build,
};
