/*
 * Passes before kernels see a graph: autodiff, frozen layers, the flat layout, precision,
 * and checkpointing, on toy ops. tests/ops/test_ops.c tests the results of real ops.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "graph/autodiff.h"
#include "graph/flat.h"
#include "graph/precision.h"
#include "graph/recompute.h"
#include "tests/child.h"
#include "tests/graph/toy_graph.h"
#include "tests/test.h"

static int count(const struct graph *g, const struct op *op, enum phase phase)
{
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == op && g->node[i]->phase == phase;
    return n;
}

/* y = (x w) (x w) + u with w trained: dw = 2 x (x w) dy, summed from two branches. */
static void gradients_are_summed(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed"),
                  *u = toy_weight(&b, "unused");
    struct tensor *w = toy_weight(&b, "layer");
    struct tensor *h = toy_two(&b, &toy_mul, x, w), *y = toy_two(&b, &toy_mul, h, h);
    float want[TOY_LEN];

    (void)unused;
    graph_flatten(g);
    autodiff(&b, y, seed);
    assert_int_equal(count(g, &toy_add, PHASE_BACKWARD), 1);
    assert_null(u->grad);
    assert_int_equal(w->grad->memory, MEMORY_GRADS);
    assert_int_equal(w->grad->offset, w->offset);
    assert_null(x->grad); /* the input is not trained */

    struct program *p = program_compile(g, &toy_plain, NULL, NULL);
    void **base = toy_bind(p);

    toy_fill(p, x, 1), toy_fill(p, w, 2), toy_fill(p, seed, 3);
    program_run(p);
    for (int i = 0; i < TOY_LEN; i++) {
        const float *xs = program_data(p, x), *ws = program_data(p, w),
                    *dy = program_data(p, seed);

        want[i] = 2 * xs[i] * xs[i] * ws[i] * dy[i];
    }
    toy_expect(program_data(p, w->grad), want);
    toy_unbind(base);
    program_free(p);
    graph_free(g);
}

static void frozen_layers_cost_nothing(void **unused)
{
    static const char *const pattern[] = {"first.*", "nothing"};
    int nodes[2];

    (void)unused;
    for (int frozen = 0; frozen < 2; frozen++) {
        struct graph *g = graph_new(&toy_ops, true);
        struct builder b = {.g = g};

        graph_freeze(g, pattern, frozen ? 2 : 0);

        struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed");
        struct tensor *w1 = toy_weight(&b, "first"), *w2 = toy_weight(&b, "second");
        struct tensor *h = toy_two(&b, &toy_mul, x, w1),
                      *y = toy_two(&b, &toy_mul, h, w2);

        graph_flatten(g);
        autodiff(&b, y, seed);
        nodes[frozen] = count(g, &toy_mul, PHASE_BACKWARD);
        assert_true(w2->grad != NULL);
        assert_int_equal(w1->grad == NULL, frozen);
        if (frozen) {
            assert_int_equal(g->freeze_hits[0], 1);
            assert_int_equal(g->freeze_hits[1], 0);
        }
        graph_free(g);
    }
    assert_int_equal(nodes[0], 3); /* dw2, dh, dw1 */
    assert_int_equal(nodes[1], 1); /* only dw2 */
}

static void flat_layout_is_reversed_and_aligned(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *a = toy_weight(&b, "a"), *z = toy_weight(&b, "z");
    struct tensor *m = graph_buffer(&b, "a", "mean", 1, (const int64_t[]){3},
                                    (struct init){.kind = INIT_ZERO});
    struct tensor *stat = node(&b, &toy_add, "a", NULL, (struct tensor *[]){a, z}, 2);

    (void)unused;
    stat->statistic_of = m;
    graph_flatten(g);
    assert_int_equal(z->offset, 0);
    assert_int_equal(a->offset, 64);
    assert_int_equal(m->offset, 128);
    assert_int_equal(g->flat->param_len, 32);
    assert_int_equal(g->flat->weights_len, 48);
    assert_int_equal(stat->memory, MEMORY_STATS);
    assert_int_equal(stat->offset, 0);
    assert_true(stat->root);
    graph_free(g);
}

static void frozen_parameters_follow_trained_ones(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    static const char *const pattern[] = {"z.*"};
    struct tensor *a, *z;

    (void)unused;
    graph_freeze(g, pattern, 1);
    a = toy_weight(&b, "a");
    z = toy_weight(&b, "z");
    graph_flatten(g);
    assert_int_equal(a->offset, 0);
    assert_int_equal(z->offset, 64);
    assert_int_equal(g->flat->ntrained, 1);
    assert_int_equal(g->flat->trained_len, 16);
    assert_int_equal(g->flat->nparam, 2);
    assert_int_equal(g->flat->param_len, 32);
    graph_free(g);
}

static void casts_are_shared_and_gradients_stay_wide(void **unused)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed"),
                  *w = toy_weight(&b, "layer");
    struct tensor *h = toy_two(&b, &toy_mul, x, w), *y = toy_two(&b, &toy_mul, h, x);

    (void)unused;
    graph_flatten(g);
    autodiff(&b, y, seed);
    precision(g, AMP_O1, DTYPE_F16);
    assert_int_equal(h->dtype, DTYPE_F16);
    assert_int_equal(y->dtype, DTYPE_F16);
    /* one cast each for x, w, and seed, and one for the gradient of w back to fp32 */
    assert_int_equal(count(g, &toy_cast, PHASE_FORWARD), 2);
    assert_int_equal(count(g, &toy_cast, PHASE_BACKWARD), 2);
    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->memory == MEMORY_GRADS) {
            assert_int_equal(g->tensor[i]->dtype, DTYPE_F32);
            assert_int_equal(g->tensor[i]->offset, w->offset);
        }
    for (int i = 0; i < g->nnode; i++) { /* inputs have smaller indices */
        assert_int_equal(g->node[i]->index, i);
        for (int k = 0; k < g->node[i]->nin; k++)
            if (g->node[i]->in[k]->producer)
                assert_true(g->node[i]->in[k]->producer->index < i);
    }
    graph_free(g);
}

/* The add of two fp32 inputs: from O2 on, everything that may be 16-bit is. */
static void widest_inputs_count_below_o2(void **unused)
{
    static const enum dtype want[] = {DTYPE_F32, DTYPE_F32, DTYPE_BF16, DTYPE_BF16};

    (void)unused;
    for (int level = AMP_O0; level <= AMP_O3; level++) {
        struct graph *g = graph_new(&toy_ops, true);
        struct builder b = {.g = g};
        struct tensor *x = toy_vec(&b, "x"), *y = toy_two(&b, &toy_add, x, x);

        precision(g, (enum amp_level)level, DTYPE_BF16);
        assert_int_equal(y->dtype, want[level]);
        graph_free(g);
    }
}

/* Layers by name: forward and backward; nodes that must be fp32 are not counted. */
static void layers_have_their_own_precision(void **unused)
{
    static const char *const f32[] = {"mul*"}, *const half[] = {"a*", "none"};
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed"),
                  *w = toy_weight(&b, "w");
    struct tensor *h = node(&b, &toy_mul, "mul1", NULL, (struct tensor *[]){x, w}, 2);
    struct tensor *y = node(&b, &toy_add, "a.add", NULL, (struct tensor *[]){h, x}, 2);
    struct tensor *z = node(&b, &toy_mul, "other", NULL, (struct tensor *[]){y, x}, 2);
    int f32_hits[1] = {0}, half_hits[2] = {0};
    struct precision_rules rules = {f32, half, 1, 2, f32_hits, half_hits};

    (void)unused;
    graph_flatten(g);
    autodiff(&b, z, seed);
    precision_by_rules(g, AMP_O1, DTYPE_BF16, &rules);
    assert_int_equal(h->dtype, DTYPE_F32);
    assert_int_equal(y->dtype, DTYPE_BF16); /* an add of fp32 inputs */
    assert_int_equal(z->dtype, DTYPE_BF16);
    for (int i = 0; i < g->nnode; i++)
        if (g->node[i]->op != &toy_cast && !strcmp(g->node[i]->layer, "mul1"))
            assert_int_equal(g->node[i]->out[0]->dtype, DTYPE_F32);
    assert_int_equal(f32_hits[0], 1);
    assert_int_equal(half_hits[0], 1);
    assert_int_equal(half_hits[1], 0);
    graph_free(g);
}

/* Builds a chain of blocks h = h h + h, each a scope. Returns the gradient of the
 * weight. */
static void chain(int use_checkpoint, float dw[TOY_LEN], size_t *lower, size_t *arena)
{
    struct graph *g = graph_new(&toy_ops, true);
    struct builder b = {.g = g};
    struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed"),
                  *w = toy_weight(&b, "layer");
    struct tensor *h = toy_two(&b, &toy_mul, x, w);

    for (int i = 0; i < 12; i++) {
        struct tensor *in = h;

        scope_begin(&b);
        for (int k = 0; k < 4; k++)
            h = toy_two(&b, &toy_mul, h, h);
        h = toy_two(&b, &toy_add, h, in);
        scope_end(&b);
    }
    graph_flatten(g);
    autodiff(&b, h, seed);
    if (use_checkpoint)
        assert_int_equal(recompute(g), 12 * 3);

    struct program *p = program_compile(g, &toy_plain, NULL, NULL);
    void **base = toy_bind(p);

    toy_fill(p, x, 1), toy_fill(p, w, 2), toy_fill(p, seed, 3);
    program_run(p);
    memcpy(dw, program_data(p, w->grad), TOY_LEN * sizeof(float));
    *lower = p->lower_bound;
    *arena = program_need(p, MEMORY_ARENA);
    toy_unbind(base);
    program_free(p);
    graph_free(g);
}

static void checkpointing_saves_memory_and_changes_no_bit(void **unused)
{
    float dw[2][TOY_LEN];
    size_t lower[2], arena[2];

    (void)unused;
    for (int i = 0; i < 2; i++)
        chain(i, dw[i], &lower[i], &arena[i]);
    assert_memory_equal(dw[0], dw[1], sizeof(dw[0]));
    assert_true(lower[1] * 2 < lower[0]);
    assert_true(arena[1] * 2 < arena[0]);
    assert_true(arena[0] >= lower[0] && arena[1] >= lower[1]);
}

static void lose_a_gradient(void *unused)
{
    struct op silent = toy_mul;
    struct builder b = {.g = graph_new(&toy_ops, true)};
    struct tensor *x = toy_vec(&b, "x"), *seed = toy_vec(&b, "seed"),
                  *w = toy_weight(&b, "layer"), *h;

    (void)unused;
    silent.name = "silent";
    silent.grad = NULL;
    h = toy_two(&b, &silent, x, w);
    graph_flatten(b.g);
    autodiff(&b, toy_two(&b, &toy_mul, h, w), seed);
}

/* w reaches y on two ways: without the check its gradient would lack one of them. */
static void gradients_are_not_lost(void **unused)
{
    (void)unused;
    check_leaves(lose_a_gradient, NULL, CHILD_SIGNAL + SIGABRT,
                 "layer 'silent': silent has no gradient, but 'mul' depends on it");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_summed),
        cmocka_unit_test(gradients_are_not_lost),
        cmocka_unit_test(frozen_layers_cost_nothing),
        cmocka_unit_test(flat_layout_is_reversed_and_aligned),
        cmocka_unit_test(frozen_parameters_follow_trained_ones),
        cmocka_unit_test(casts_are_shared_and_gradients_stay_wide),
        cmocka_unit_test(widest_inputs_count_below_o2),
        cmocka_unit_test(layers_have_their_own_precision),
        cmocka_unit_test(checkpointing_saves_memory_and_changes_no_bit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
