/*
 * Whole nets against PyTorch, fp32: loss, logits, every gradient, and all weights and
 * running statistics after three steps of SGD, of AdamW, and of AdamW with layer-wise
 * decay. Weights and input are an integer hash that scripts/golden/model_resnet.py
 * computes, too.
 */
#include <stdlib.h>
#include <string.h>

#include "models/regnet.h"
#include "models/resnet.h"
#include "models/resnetv2.h"
#include "tests/models/golden_train.h"
#include "tests/test.h"

/* Nets that are not in the table. */
static const struct model nets[] = {
    {.name = "resnext",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "NNNN",
                                    .depth = {1, 2, 1, 1},
                                    .planes = {64, 24, 32, 32},
                                    .groups = 4,
                                    .base = 32}},
    {.name = "se_tiered",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "BBBB",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {16, 16, 32, 48},
                                    .stem = RESNET_STEM_TIERED,
                                    .shortcut = RESNET_SHORTCUT_AVG,
                                    .se = 16}},
    {.name = "eca_blur",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "BBBB",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {64, 16, 24, 64},
                                    .eca = true,
                                    .smooth = RESNET_SMOOTH_BLUR}},
    {.name = "rs",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "NNNN",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {16, 16, 24, 32},
                                    .stem = RESNET_STEM_DEEP,
                                    .shortcut = RESNET_SHORTCUT_AVG,
                                    .se = 4,
                                    .conv_pool = true}},
    {.name = "senet_aa",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "NNNN",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {64, 32, 32, 32},
                                    .groups = 4,
                                    .base = 16,
                                    .se = 16,
                                    .reduce = 2,
                                    .shortcut_3x3 = true,
                                    .smooth = RESNET_SMOOTH_AVG}},
    {.name = "sknet",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "BBBB",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {64, 16, 24, 32},
                                    .selective = {8, 16, true}}},
    {.name = "sknext",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "NNNN",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {64, 24, 32, 32},
                                    .groups = 4,
                                    .base = 16,
                                    .selective = {16, 8, false}}},
    {.name = "resnet_gn",
     .family = &resnet_family,
     .arch = &(const struct resnet){.block = "BBBB",
                                    .depth = {1, 1, 1, 1},
                                    .planes = {64, 32, 32, 64},
                                    .norm_groups = 32}},
    {.name = "bit",
     .family = &resnetv2_family,
     .arch = &(const struct resnetv2){.depth = {1, 1, 1, 1},
                                      .width = {128, 128, 256, 128},
                                      .stem_width = 64,
                                      .group_norm = true,
                                      .standardized = true}},
    {.name = "resnetv2",
     .family = &resnetv2_family,
     .arch = &(const struct resnetv2){.depth = {1, 2, 1, 1},
                                      .width = {16, 24, 32, 48},
                                      .stem_width = 16,
                                      .stem = RESNETV2_STEM_DEEP,
                                      .basic = true,
                                      .avg_shortcut = true}},
    {.name = "regnet", /* stages of 1, 1, 2, and 1 blocks, 8 to 64 channels */
     .family = &regnet_family,
     .arch = &(const struct regnet){.depth = 5,
                                    .first = 8,
                                    .slope = 10,
                                    .factor = 2,
                                    .group = 8,
                                    .squeeze_excite = true}},
};

static const struct model *net_find(const char *name)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m;

    for (size_t i = 0; i < sizeof(nets) / sizeof(nets[0]); i++)
        if (!strcmp(nets[i].name, name))
            return &nets[i];
    m = model_find("resnet", name, &why);
    if (!m)
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return m;
}

static void check_net(const char *name)
{
    golden_train(net_find(name), GOLDEN_SGD, true);
    golden_train(net_find(name), GOLDEN_ADAMW, false);
    golden_train(net_find(name), GOLDEN_LAYERS, false);
}

/* CIFAR's basic blocks and shortcuts without parameters. */
static void test_resnet20(void **state)
{
    (void)state;
    check_net("resnet20");
}

/* Both kinds of blocks, a deep stem, average pools over an odd size. */
static void test_test_resnet(void **state)
{
    (void)state;
    check_net("test_resnet");
}

/* Grouped convolutions, 7x7 stem, convolutional shortcuts. */
static void test_resnext(void **state)
{
    (void)state;
    check_net("resnext");
}

static void test_se_tiered(void **state)
{
    (void)state;
    check_net("se_tiered");
}

/* ECA-Net's attention of 16 to 64 channels; smoothed strides of odd and even maps. */
static void test_eca_blur(void **state)
{
    (void)state;
    check_net("eca_blur");
}

/* A wide squeeze, and a convolution instead of the stem's pool. */
static void test_rs(void **state)
{
    (void)state;
    check_net("rs");
}

/* Shortcuts of 3x3, narrow first convolutions, average pools instead of strides. */
static void test_senet_aa(void **state)
{
    (void)state;
    check_net("senet_aa");
}

/* Selective kernels of half of the channels each. */
static void test_sknet(void **state)
{
    (void)state;
    check_net("sknet");
}

/* The same, grouped, of all channels. */
static void test_sknext(void **state)
{
    (void)state;
    check_net("sknext");
}

static void test_resnet_gn(void **state)
{
    (void)state;
    check_net("resnet_gn");
}

/* Standardized weights, group norms, a max pool over a border of zeros. */
static void test_bit(void **state)
{
    (void)state;
    check_net("bit");
}

/* Batch norms, basic blocks, a deep stem, average pools in shortcuts. */
static void test_resnetv2(void **state)
{
    (void)state;
    check_net("resnetv2");
}

static void test_regnet(void **state)
{
    (void)state;
    check_net("regnet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_resnet20), cmocka_unit_test(test_test_resnet),
        cmocka_unit_test(test_resnext),  cmocka_unit_test(test_se_tiered),
        cmocka_unit_test(test_eca_blur), cmocka_unit_test(test_rs),
        cmocka_unit_test(test_senet_aa), cmocka_unit_test(test_sknet),
        cmocka_unit_test(test_sknext),   cmocka_unit_test(test_resnet_gn),
        cmocka_unit_test(test_bit),      cmocka_unit_test(test_resnetv2),
        cmocka_unit_test(test_regnet),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
