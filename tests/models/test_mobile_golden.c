/*
 * EfficientNet and the MobileNets against timm, as test_resnet_golden.c does with ResNets;
 * scripts/golden/model_mobile.py writes the golden files.
 */
#include <stdlib.h>
#include <string.h>

#include "models/efficientnet.h"
#include "models/mobilenetv2.h"
#include "models/mobilenetv3.h"
#include "models/mobilenetv4.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

#define SE   .squeeze = 0.25
#define SAME .same_stage = true
#define ROWS (const struct mobile_blocks[])
#define NET(...)                                                                         \
    .arch = &(const struct mobile)                                                       \
    {                                                                                    \
        .width = 1, .depth = 1, .stem = 16, .features = 48, __VA_ARGS__                  \
    }

static const struct mobile_blocks b[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 8), SE},
    {MOBILE(INVERTED, 2, 5, 2, 6, 16), SE},
    {MOBILE(INVERTED, 1, 3, 2, 6, 24), SE},
    {0},
};
static const struct mobile_blocks v2_fused[] = {
    {MOBILE(CONV, 1, 3, 1, 1, 16)},
    {MOBILE(FUSED, 2, 3, 2, 4, 24)},
    {MOBILE(INVERTED, 2, 3, 2, 4, 32), SE},
    {0},
};
static const struct mobile_blocks v2[] = {
    {MOBILE(SEPARABLE, 1, 3, 1, 1, 8)},
    {MOBILE(INVERTED, 2, 3, 2, 6, 16)},
    {MOBILE(INVERTED, 1, 3, 2, 6, 24)},
    {0},
};
static const struct mobile_blocks v3[] = {
    {MOBILE(SEPARABLE, 1, 3, 2, 1, 16), SE, .relu = true},
    {MOBILE(INVERTED, 1, 3, 2, 4.5, 24), .relu = true},
    {MOBILE(INVERTED, 1, 3, 1, 3.67, 24), .relu = true, SAME},
    {MOBILE(INVERTED, 2, 5, 1, 3, 32), SE},
    {MOBILE(CONV, 1, 1, 1, 1, 64)},
    {0},
};
static const struct mobile_blocks v4[] = {
    {MOBILE(CONV, 1, 3, 2, 1, 16), .no_shortcut = true},
    {MOBILE(CONV, 1, 1, 1, 1, 16), .no_shortcut = true, SAME},
    {MOBILE(UNIVERSAL, 1, 5, 2, 3, 24), .start = 3},
    {MOBILE(UNIVERSAL, 1, 3, 1, 2, 24), SAME},
    {MOBILE(UNIVERSAL, 1, 0, 1, 4, 24), .start = 3, SAME},
    {MOBILE(UNIVERSAL, 1, 0, 1, 2, 24), SAME},
    {MOBILE(CONV, 1, 1, 1, 1, 48)},
    {0},
};

static const struct model nets[] = {
    {.name = "efficientnet",
     .family = &efficientnet_family,
     NET(.blocks = b, .act = "silu", MOBILE_TF)},
    {.name = "efficientnetv2",
     .family = &efficientnet_family,
     NET(.blocks = v2_fused, .act = "silu")},
    {.name = "mobilenetv2",
     .family = &mobilenetv2_family,
     NET(.blocks = v2, .act = "relu", .act_number = 6)},
    {.name = "mobilenetv3",
     .family = &mobilenetv3_family,
     NET(.blocks = v3, .act = "hardswish", .squeeze = MOBILE_SQUEEZE_RELU,
         .head = MOBILE_HEAD_POOL_BIAS)},
    {.name = "mobilenetv4",
     .family = &mobilenetv4_family,
     NET(.blocks = v4, .act = "relu", .head = MOBILE_HEAD_POOL_NORM)},
};

static void check_net(const char *name)
{
    golden_check(nets, sizeof(nets) / sizeof(nets[0]), name);
}

/* TensorFlow's padding of an odd size, squeeze and excitation. */
static void test_efficientnet(void **state)
{
    (void)state;
    check_net("efficientnet");
}

/* Fused blocks, a convolution with a shortcut. */
static void test_efficientnetv2(void **state)
{
    (void)state;
    check_net("efficientnetv2");
}

static void test_mobilenetv2(void **state)
{
    (void)state;
    check_net("mobilenetv2");
}

/* Hard swish, ReLU in some blocks, two kinds of blocks in a stage, pooling before the last
 * convolution. */
static void test_mobilenetv3(void **state)
{
    (void)state;
    check_net("mobilenetv3");
}

/* Universal bottlenecks with either, both, and none of the depthwise convolutions. */
static void test_mobilenetv4(void **state)
{
    (void)state;
    check_net("mobilenetv4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_efficientnet), cmocka_unit_test(test_efficientnetv2),
        cmocka_unit_test(test_mobilenetv2),  cmocka_unit_test(test_mobilenetv3),
        cmocka_unit_test(test_mobilenetv4),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
