/*
 * Order of communication: each bucket starts once per update in the backward phase, as
 * soon as its last gradient is complete. With accumulation it starts only in the backward
 * phase of the last batch and sends the sum. Nothing is compiled and nothing runs.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/collective.h"
#include "graph/flat.h"
#include "ops/bucket.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/reference.h"
#include "session/build.h"
#include "tests/config_init.h"
#include "tests/test.h"

struct built {
    struct config cfg;
    struct collective group;
    struct plan plan;
    struct build build;
};

/* Builds resnet20 as rank 1 of 3; then keys and values up to NULL. */
static void built_init(struct built *t, enum build_kind kind, const char *const *more)
{
    static const char *const common[][2] = {
        {"MODEL.TYPE", "resnet"},      {"MODEL.NAME", "resnet20"},
        {"DATA.IMG_SIZE", "32"},       {"DATA.BATCH_SIZE", "4"},
        {"AMP_ENABLE", "False"},       {"AUG.MIXUP_PROB", "0"},
        {"TRAIN.EMA.ENABLE", "False"},
    };

    *t = (struct built){.group = {.world = 3, .rank = 1}};
    config_init(&t->cfg);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        config_set(&t->cfg, common[i][0], common[i][1]);
    for (; more && *more; more += 2)
        config_set(&t->cfg, more[0], more[1]);
    plan_init(&t->plan, &t->cfg, 64, NULL, &backend_ref, NULL);
    t->plan.group = &t->group;
    t->plan.world = 3;
    t->plan.bucket_bytes = 200000;
    build_init(&t->build, &t->plan, kind, false);
}

static void built_release(struct built *t)
{
    build_release(&t->build);
    plan_release(&t->plan);
    config_release(&t->cfg);
}

static int count(const struct graph *g, const struct op *op)
{
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == op;
    return n;
}

/* Marks the floats of a flat tensor as seen, each for the first time. */
static void mark(char *seen, const struct tensor *t)
{
    int64_t start = (int64_t)(t->offset / sizeof(float));

    for (int64_t i = start; i < start + tensor_len(t); i++)
        assert_int_equal(seen[i]++, 0);
}

/* Returns the nodes of the backward phase from index `pos` on that belong to no bucket. */
static int backward_after(const struct graph *g, int pos)
{
    int n = 0;

    for (int i = pos; i < g->nnode; i++)
        n += g->node[i]->phase == PHASE_BACKWARD && g->node[i]->op != &op_bucket_start &&
             g->node[i]->op != &op_grads_accumulate;
    return n;
}

/* After a bucket has started, no backward node writes to its range. */
static void check_alone(const struct graph *g, const struct node *start)
{
    size_t begin = start->out[0]->offset, end = begin + tensor_size(start->out[0]);

    for (int i = start->index + 1; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        for (int k = 0; n->phase == PHASE_BACKWARD && k < n->nout; k++)
            assert_false(n->out[k]->memory == MEMORY_GRADS &&
                         n->out[k]->offset >= begin && n->out[k]->offset < end);
    }
}

/* Each trained element is sent once. Returns how many backward nodes come after the first
 * start and can overlap with it. */
static int check_buckets(const struct built *t, enum memory memory)
{
    const struct graph *g = t->build.graph;
    const struct flat *f = g->flat;
    char *started = xcalloc((size_t)f->trained_len, 1);
    char *joined = xcalloc((size_t)f->trained_len, 1);
    bool looked = false;
    int overlap = -1;

    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i];

        assert_int_equal(n->index, i);
        looked |= n->op == &op_grad_stats;
        if (n->op == &op_bucket_start) {
            assert_int_equal(n->phase, PHASE_BACKWARD);
            assert_int_equal(n->out[0]->memory, memory);
            mark(started, n->out[0]);
            check_alone(g, n);
            overlap = overlap < 0 ? backward_after(g, i) : overlap;
        } else if (n->op == &op_bucket_join) {
            assert_int_equal(n->phase, PHASE_UPDATE);
            assert_false(looked);
            mark(joined, n->out[0]);
        }
    }
    assert_true(looked);
    for (int i = 0; i < f->ntrained; i++)
        for (int64_t k = 0; k < f->segment[i].len; k++) {
            assert_int_equal(started[f->segment[i].offset + k], 1);
            assert_int_equal(joined[f->segment[i].offset + k], 1);
        }
    free(started);
    free(joined);
    return overlap;
}

static void test_plain(void **state)
{
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN, NULL);
    assert_true(count(t.build.graph, &op_bucket_start) > 3);
    assert_int_equal(count(t.build.graph, &op_grads_accumulate), 0);
    assert_true(check_buckets(&t, MEMORY_GRADS) > 20);
    built_release(&t);
}

/* The node before each start adds the bucket's gradients, which are complete, to the
 * sum. */
static void check_sums(const struct graph *g)
{
    for (int i = 0; i < g->nnode; i++) {
        const struct node *n = g->node[i], *sum = i ? g->node[i - 1] : NULL;

        if (n->op != &op_bucket_start)
            continue;
        assert_ptr_equal(sum->op, &op_grads_accumulate);
        assert_ptr_equal(sum->out[0], n->out[0]);
        assert_int_equal(sum->in[GRADS_ACCUMULATE_GRADS]->offset, n->out[0]->offset);
        assert_int_equal(sum->in[GRADS_ACCUMULATE_GRADS]->memory, MEMORY_GRADS);
        assert_true(sum->nin > GRADS_ACCUMULATE_IN);
        for (int k = GRADS_ACCUMULATE_IN; k < sum->nin; k++)
            assert_true(sum->in[k]->producer->index < i);
    }
}

static void test_accumulation(void **state)
{
    static const char *const keys[] = {"TRAIN.ACCUMULATION_STEPS", "2", NULL};
    struct built t;

    (void)state;
    built_init(&t, BUILD_TRAIN, keys);
    assert_int_equal(count(t.build.graph, &op_grads_accumulate),
                     count(t.build.graph, &op_bucket_start));
    assert_true(check_buckets(&t, MEMORY_GRADS_SUM) > 20);
    check_sums(t.build.graph);
    built_release(&t);

    built_init(&t, BUILD_MICRO, keys);
    assert_int_equal(count(t.build.graph, &op_bucket_start), 0);
    assert_int_equal(count(t.build.graph, &op_bucket_join), 0);
    assert_int_equal(count(t.build.graph, &op_grads_accumulate), 1);
    built_release(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_accumulation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
