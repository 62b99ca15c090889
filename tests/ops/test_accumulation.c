/*
 * Gradient accumulation: which batches make an update, and the running statistics of
 * skipped and of accumulated updates.
 */
#include "ops/control.h"
#include "ops/running_stats.h"
#include "tests/test.h"
#include "tests/train/run_last.h"

/* Epochs of 10 batches in groups of 4; each line is one batch of two epochs. */
static void test_groups(void **state)
{
    static const struct accumulation plain = {0}, groups = {4, 10},
                                     endless = {.group = 4};
    static const struct {
        bool begins, ends;
        int size, update;
    } want[10] = {
        {1, 0, 4, 0}, {0, 0, 4, 0}, {0, 0, 4, 0}, {0, 1, 4, 0}, {1, 0, 4, 1},
        {0, 0, 4, 1}, {0, 0, 4, 1}, {0, 1, 4, 1}, {1, 0, 2, 2}, {0, 1, 2, 2},
    };

    (void)state;
    for (int k = 0; k < 20; k++) {
        int64_t update = want[k % 10].update + k / 10 * 3;

        assert_int_equal(accumulation_begins(&groups, k), want[k % 10].begins);
        assert_int_equal(accumulation_ends(&groups, k), want[k % 10].ends);
        assert_int_equal(accumulation_size(&groups, k), want[k % 10].size);
        if (want[k % 10].begins)
            assert_int_equal(accumulation_micro(&groups, update), k);
        assert_true(accumulation_seed(&groups, k, 3) ==
                    (want[k % 10].size == 2 ? 1.5f : 0.75f));
        assert_true(accumulation_begins(&plain, k) && accumulation_ends(&plain, k));
        assert_int_equal(accumulation_size(&plain, k), 1);
        assert_int_equal(accumulation_begins(&endless, k), k % 4 == 0);
    }
    assert_int_equal(accumulation_updates(&groups), 3);
    assert_int_equal(accumulation_updates(&(struct accumulation){1, 10}), 10);
    assert_int_equal(accumulation_updates(&(struct accumulation){5, 10}), 2);
    assert_int_equal(accumulation_micro(&(struct accumulation){1, 10}, 37), 37);
    assert_int_equal(accumulation_micro(&endless, 5), 20);
}

enum { BUFFERS = 16 };

struct stats_fixture {
    struct graph *g;
    struct builder b;
    struct control control;
    float batch[BUFFERS], running[BUFFERS], pending[BUFFERS];
    struct tensor *t[3], *control_tensor;
};

/* mean [0, 2), var [4, 6), count [8]; [12, 16) belongs to a frozen batch norm. */
static const struct stats_segment stats_segment[] = {
    {0, 2, 0.25f, 1, false},
    {4, 2, 0.25f, 2, false},
    {8, 1, 0.25f, 1, true},
};

static void stats_fixture_init(struct stats_fixture *f)
{
    *f = (struct stats_fixture){.g = graph_new(NULL, true)};
    f->b.g = f->g;
    f->t[0] = graph_state(&f->b, "stats", MEMORY_STATS, DTYPE_F32, 0, BUFFERS);
    f->t[1] = graph_state(&f->b, "buffers", MEMORY_WEIGHTS, DTYPE_F32, 0, BUFFERS);
    f->t[2] = graph_state(&f->b, "pending", MEMORY_PENDING, DTYPE_F32, 0, BUFFERS);
    f->control_tensor = graph_state(&f->b, "control", MEMORY_CONTROL, DTYPE_U8, 0,
                                    (int64_t)sizeof(struct control));
    for (int i = 0; i < BUFFERS; i++) {
        f->batch[i] = 1;
        f->running[i] = 4;
    }
}

static void stats_run(struct stats_fixture *f, const struct op *op, int accumulation)
{
    const struct running_stats_attrs a = {
        "stats", {.group = accumulation}, stats_segment, 3};
    struct tensor *target = f->t[op == &op_stats_commit || accumulation == 1 ? 1 : 2];
    void *out[] = {target == f->t[1] ? f->running : f->pending};

    if (op == &op_stats_commit) {
        void *in[] = {f->pending, &f->control};

        node_update(&f->b, op, "stats", &a,
                    (struct tensor *[]){f->t[2], f->control_tensor}, 2, &target, 1);
        run_last(f->g, in, out);
    } else {
        void *in[] = {f->batch, f->running, &f->control};

        node_update(&f->b, op, "stats", &a,
                    (struct tensor *[]){f->t[0], f->t[1], f->control_tensor}, 3, &target,
                    1);
        run_last(f->g, in, out);
    }
}

static void check_running(const struct stats_fixture *f, float mean, float var,
                          float count)
{
    assert_true(f->running[0] == mean && f->running[1] == mean);
    assert_true(f->running[4] == var && f->running[5] == var);
    assert_true(f->running[8] == count);
    for (int i = 9; i < BUFFERS; i++)
        assert_true(f->running[i] == 4);
    assert_true(f->running[2] == 4 && f->running[6] == 4);
}

static void test_running_stats(void **state)
{
    struct stats_fixture f;

    (void)state;
    stats_fixture_init(&f);
    f.control.overflow = 1;
    stats_run(&f, &op_running_stats, 1);
    check_running(&f, 4, 4, 4);
    f.control.overflow = 0;
    stats_run(&f, &op_running_stats, 1);
    check_running(&f, 3.25f, 3.5f, 5);
    graph_free(f.g);
}

/* Two micro-batches: as two updates in a row, and nothing at all on overflow. */
static void test_running_stats_pending(void **state)
{
    struct stats_fixture f;

    (void)state;
    stats_fixture_init(&f);
    for (int overflow = 1; overflow >= 0; overflow--) {
        f.control.overflow = 0;
        for (int k = 0; k < 2; k++) {
            stats_run(&f, &op_running_stats, 2);
            check_running(&f, 4, 4, 4);
            f.control.micro++;
        }
        f.control.overflow = overflow;
        stats_run(&f, &op_stats_commit, 2);
        if (overflow)
            check_running(&f, 4, 4, 4);
    }
    check_running(&f, 2.6875f, 3.125f, 6);
    graph_free(f.g);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_groups),
        cmocka_unit_test(test_running_stats),
        cmocka_unit_test(test_running_stats_pending),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
