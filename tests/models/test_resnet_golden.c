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
                                    .se = true}},
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
        cmocka_unit_test(test_regnet),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
