/*
 * Older convolutional families against timm, as test_resnet_golden.c does with ResNets;
 * scripts/golden/model_classic.py writes the golden files.
 */
#include <stdlib.h>
#include <string.h>

#include "models/densenet.h"
#include "models/ghostnet.h"
#include "models/inception.h"
#include "models/vgg.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

#define NET(NAME, FAMILY, STRUCT, ...)                                                   \
    {                                                                                    \
        .name = (NAME), .family = &FAMILY##_family,                                      \
        .arch = &(const struct STRUCT){__VA_ARGS__},                                     \
    }

static const struct ghost_block ghost[] = {
    {GHOST(3, 8, 8, 1)},
    {GHOST(3, 24, 12, 2)},
    {GHOST(5, 36, 12, 1), .squeeze = true},
    {GHOST(3, 30, 20, 1), .same_stage = true},
    {GHOST(3, 40, 20, 2), .squeeze = true},
    {0},
};

static const struct model nets[] = {
    NET("vgg", vgg, vgg, .depth = {1, 2}, .width = 8, .hidden = 24),
    NET("vgg_bn", vgg, vgg, .norm = true, .depth = {1, 1, 2, 1, 1}, .width = 6,
        .hidden = 24),
    NET("densenet", densenet, densenet, .growth = 8, .depth = {2, 3}),
    NET("densenetblur", densenet, densenet, .growth = 8, .depth = {1, 2}, .deep = true,
        .blur = true),
    NET("inception", inception, inception, .width = 4),
    NET("ghostnet", ghostnet, ghostnet, .blocks = ghost, .width = 0.9),
    NET("ghostnetv2", ghostnet, ghostnet, .blocks = ghost, .v2 = true),
};

static void check_net(const char *name)
{
    golden_check(nets, sizeof(nets) / sizeof(nets[0]), name);
}

/* An odd size; the last map is larger than 7 x 7. */
static void test_vgg(void **state)
{
    (void)state;
    check_net("vgg");
}

/* The last map of one pixel is enlarged. */
static void test_vgg_bn(void **state)
{
    (void)state;
    check_net("vgg_bn");
}

static void test_densenet(void **state)
{
    (void)state;
    check_net("densenet");
}

/* Smoothed pooling of an odd size, a deep stem. */
static void test_densenetblur(void **state)
{
    (void)state;
    check_net("densenetblur");
}

/* An odd size; the auxiliary head's loss, and its pooling of a map below 17 x 17. */
static void test_inception(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
        if (nets[i].family == &inception_family)
            golden_train(&nets[i], GOLDEN_SLOW, true);
}

/* Scaled widths, squeeze and excitation, shortcuts with other channels. */
static void test_ghostnet(void **state)
{
    (void)state;
    check_net("ghostnet");
}

/* Gates of odd sizes. */
static void test_ghostnetv2(void **state)
{
    (void)state;
    check_net("ghostnetv2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vgg),        cmocka_unit_test(test_vgg_bn),
        cmocka_unit_test(test_densenet),   cmocka_unit_test(test_densenetblur),
        cmocka_unit_test(test_inception),  cmocka_unit_test(test_ghostnet),
        cmocka_unit_test(test_ghostnetv2),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
