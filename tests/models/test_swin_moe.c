/* Swin-MoE beyond what PyTorch's figures show: counts of experts and places, initial values,
 * frozen biases. */
#include <stdlib.h>
#include <string.h>

#include "models/swin_moe.h"
#include "ops/table.h"
#include "tests/test.h"

static void test_experts(void **state)
{
    static const struct {
        int64_t all, local, processes, want;
    } row[] = {{0, 1, 1, 1},  {0, 2, 3, 6}, {0, -4, 32, 8}, {0, -4, 1, 0},
               {0, -3, 8, 0}, {0, 0, 4, 0}, {8, -4, 1, 8},  {0, 3, 0, 3}};

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        assert_int_equal(
            swin_moe_experts(
                &(struct swin_moe_options){.num_experts = row[i].all,
                                           .num_local_experts = row[i].local},
                row[i].processes),
            row[i].want);
}

static void test_capacity(void **state)
{
    static const struct {
        double factor;
        int64_t top, local, tokens, experts, want;
    } row[] = {
        {1.25, 1, 1, 144, 8, 22},   {1.25, 1, -4, 144, 8, 24}, {1.25, 1, 1, 145, 8, 23},
        {1.25, 2, 1, 144, 8, 44},   {-1.25, 1, 1, 144, 8, 22}, {0, 2, 1, 144, 8, 144},
        {100, 1, 1, 144, 8, 144},   {0.01, 1, 1, 144, 8, 0},   {1, 1, -4, 6, 8, 4},
        {1e300, 1, 1, 144, 8, 144}, {0.5, 2, 1, 9, 4, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
        assert_int_equal(
            swin_moe_capacity(
                &(struct swin_moe_options){.capacity_factor = row[i].factor,
                                           .top_value = row[i].top,
                                           .num_local_experts = row[i].local},
                row[i].tokens, row[i].experts),
            row[i].want);
}

/* Returns the training graph of a Swin-MoE-S for one image. */
static struct graph *build(const char *name, int init)
{
    struct strbuf why = STRBUF_INIT;
    const struct model *m = model_find("swin_moe", name, &why);
    struct builder b = {.g = graph_new(&graph_ops_default, true)};
    struct model_options o = {.classes = 10, .init = init};
    struct tensor *x = graph_input(&b, "input", DTYPE_F32, LAYOUT_IMAGE, 4,
                                   (const int64_t[]){1, 3, 192, 192});

    assert_non_null(m);
    (void)model_build(&b, m, &o, x);
    strbuf_release(&why);
    return b.g;
}

static void check_init(const struct graph *g, const char *name, enum init_kind kind,
                       float value)
{
    const struct tensor *t = graph_find(g, name);

    if (!t)
        fail_msg("no %s", name);
    assert_int_equal(t->init.kind, kind);
    assert_true(t->init.value >= value * 0.999f && t->init.value <= value * 1.001f);
}

#define MOE "layers.2.blocks.1.mlp._moe_layer."

static void test_init(void **state)
{
    struct graph *g =
        build("swin_moe_small_patch4_window12_192_cosine_router_32expert_32gpu_22k", 0);

    (void)state;
    check_init(g, MOE "experts.batched_fc1_w", INIT_TRUNC_NORMAL, 0.005f);
    check_init(g, MOE "experts.batched_fc2_w", INIT_TRUNC_NORMAL, 0.005f);
    check_init(g, MOE "gates.0.cosine_projector.weight", INIT_TRUNC_NORMAL, 0.005f);
    check_init(g, MOE "gates.0.sim_matrix", INIT_NORMAL, 0.01f);
    check_init(g, MOE "gates.0.temperature", INIT_CONSTANT, 0.6931472f); /* log 2 */
    check_init(g, "layers.0.blocks.0.attn.cpb_mlp.0.weight", INIT_TRUNC_NORMAL, 0.005f);
    check_init(g, "layers.0.blocks.0.mlp.fc1.weight", INIT_TRUNC_NORMAL, 0.005f);
    check_init(g, "head.fc.weight", INIT_TRUNC_NORMAL, 0.005f);
    graph_free(g);
    g = build("swin_moe_small_patch4_window12_192_8expert_32gpu_22k",
              INIT_RULE_TRUNC_NORMAL_02); /* MODEL.INIT */
    check_init(g, "layers.0.blocks.0.mlp.fc1.weight", INIT_TRUNC_NORMAL, 0.02f);
    check_init(g, MOE "gates.0.wg.weight", INIT_TRUNC_NORMAL, 0.02f);
    graph_free(g);
}

/* MLP_FC2_BIAS False: experts have the bias, but it is not trained; other MLPs have none. */
static void test_biases(void **state)
{
    struct graph *g = build("swin_moe_small_patch4_window12_192_8expert_32gpu_22k", 0);
    const struct tensor *b = graph_find(g, MOE "experts.batched_fc2_bias");

    (void)state;
    assert_non_null(b);
    assert_true(b->frozen && !b->trainable);
    assert_true(graph_find(g, MOE "experts.batched_fc1_bias")->trainable);
    assert_null(graph_find(g, "layers.2.blocks.0.mlp.fc2.bias"));
    assert_non_null(graph_find(g, "layers.2.blocks.0.mlp.fc1.bias"));
    assert_null(graph_find(g, "layers.2.blocks.1.mlp.fc1.weight"));
    graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_capacity),
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_biases),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
