/*
 * Training in 16 bits: which tensors have 16 bits, what checkpointing saves then, and
 * that the 16-bit copy also contains frozen weights.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

#define BF16   "DEVICE", "ref", "AMP_ENABLE", "True", "AMP.DTYPE", "bf16"
#define FREEZE "TRAIN.FREEZE", "['conv1.*', 'layer*.conv*', 'fc.*']"

static const struct node *find_node(const struct run *r, const char *op,
                                    const char *layer)
{
    const struct graph *g = r->s.build[SESSION_TRAIN].graph;

    for (int i = 0; i < g->nnode; i++)
        if (!strcmp(g->node[i]->op->name, op) && !strcmp(g->node[i]->layer, layer))
            return g->node[i];
    BUG("no %s in '%s'", op, layer);
}

/* A norm passes on bf16 from a convolution in bf16. */
static void test_types(void **state)
{
    const struct node *bn;
    struct run r;

    (void)state;
    run_init(&r, (const char *[]){BF16, NULL});
    bn = find_node(&r, "batchnorm", "bn1");
    assert_int_equal(bn->in[0]->dtype, DTYPE_BF16);
    assert_int_equal(bn->in[1]->dtype, DTYPE_F32); /* its weight */
    assert_int_equal(bn->out[0]->dtype, DTYPE_BF16);
    run_release(&r);
}

/* Casts are recomputed with the nodes they belong to. */
static void test_checkpointing(void **state)
{
    struct run a, b;
    size_t plain, less;

    (void)state;
    run_init(&a, (const char *[]){BF16, NULL});
    run_init(&b, (const char *[]){BF16, "TRAIN.USE_CHECKPOINT", "True", NULL});
    plain = program_need(a.s.program[SESSION_TRAIN], MEMORY_ARENA);
    less = program_need(b.s.program[SESSION_TRAIN], MEMORY_ARENA);
    if (!(less < plain - plain / 4))
        fail_msg("arena %zu with checkpointing, %zu without", less, plain);
    run_steps(&a, 2);
    run_steps(&b, 2);
    assert_memory_equal(run_weights(&a), run_weights(&b), run_bytes(&a));
    run_release(&a);
    run_release(&b);
}

/* The 16-bit copy contains all weights, including those that no update changes. */
static void test_freeze(void **state)
{
    struct run a, b;
    double x, y;

    (void)state;
    run_init(&a, (const char *[]){FREEZE, "AMP_ENABLE", "True", NULL});
    run_init(&b, (const char *[]){FREEZE, NULL});
    run_steps(&a, 1);
    run_steps(&b, 1);
    x = session_metrics(&a.s).loss_sum;
    y = session_metrics(&b.s).loss_sum;
    if (!(fabs(x - y) <= 0.02 * y))
        fail_msg("loss %g of half weights, %g of single ones", x, y);
    run_release(&a);
    run_release(&b);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_types),
        cmocka_unit_test(test_checkpointing),
        cmocka_unit_test(test_freeze),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
