/*
 * An update from several batches equals one from a single batch that holds them all, also
 * at the end of an epoch; and each batch moves the running statistics.
 */
#include <math.h>

#include "base/alloc.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/ops/backends.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

/* Returns the distance of two runs relative to the distance of the first from
 * `before`. */
static double relative_distance(struct run *a, struct run *b, const float *before)
{
    double worst = 0, moved = 0;

    (void)run_weights(a);
    (void)run_weights(b);
    for (int64_t i = 0; i < session_flat(&a->s)->weights_len; i++) {
        worst = fmax(worst, fabs((double)a->weights[i] - (double)b->weights[i]));
        moved = fmax(moved, fabs((double)a->weights[i] - (double)before[i]));
    }
    return worst / moved;
}

/* Batches of four, and two batches of two per update; no batch norm uses batch
 * statistics. */
struct both {
    struct run four, two;
    float *before;
};

/* `images` per epoch. */
static void both_init(struct both *t, int64_t images, const char *device)
{
    static const char *const norms = "['*bn1.*', '*bn2.*']";

    run_init(&t->four, (const char *[]){"TRAIN.FREEZE", norms, "TRAIN.CLIP_GRAD", "0",
                                        "TRAIN.BASE_LR", "0.001", NULL});
    run_init_of(&t->two, images,
                (const char *[]){"TRAIN.FREEZE", norms, "TRAIN.CLIP_GRAD", "0",
                                 "TRAIN.BASE_LR", "0.001", "DATA.BATCH_SIZE", "2",
                                 "TRAIN.ACCUMULATION_STEPS", "2", "DEVICE", device,
                                 NULL});
    t->before = xmemdup(run_weights(&t->four), run_bytes(&t->four));
}

/* Six batches of two made `steps` updates, equal up to rounding. */
static void both_check(struct both *t, int steps)
{
    double far = relative_distance(&t->four, &t->two, t->before);

    assert_int_equal(session_control(&t->two.s).step, steps);
    assert_int_equal(session_control(&t->two.s).micro, 6);
    if (!(far <= 1e-4))
        fail_msg("%s: apart by %g of the way", t->two.cfg.device, far);
    free(t->before);
    run_release(&t->four);
    run_release(&t->two);
}

/*
 * Two batches of two equal one of four. The CPU packs its weights again after each
 * update, also for the program that only accumulates.
 */
static void test_accumulation(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct both t;

        both_init(&t, 0, i ? "cpu" : test_device());
        run_steps(&t.four, 3);
        run_steps(&t.two, 6);
        both_check(&t, 3);
    }
}

/* Runs a batch of four and its two halves, or the same two twice. */
static void step_four(struct run *r, int first, bool twice)
{
    uint8_t pixels[4 * SIDE * SIDE * 3];
    int32_t labels[4];

    make_batch(pixels, labels, 2, first);
    make_batch(pixels + sizeof(pixels) / 2, labels + 2, 2, twice ? first : first + 2);
    (void)session_step(&r->s, pixels, labels);
}

/*
 * Epochs of three batches of two in groups of two: the last update of an epoch has one
 * batch, and its gradient is the mean over that batch, as if it came twice.
 */
static void test_leftover(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct both t;

        both_init(&t, 6, i ? "cpu" : test_device());
        for (int epoch = 0; epoch < 2; epoch++) {
            step_four(&t.four, 6 * epoch, false);
            step_four(&t.four, 6 * epoch + 4, true);
        }
        run_steps(&t.two, 6);
        both_check(&t, 4);
    }
}

/* running = 0.9 running + 0.1 batch, of the variance the unbiased one. */
static void test_running_statistics(void **state)
{
    enum { N = BATCH * SIDE * SIDE, C = 16 };
    const struct segment *mean, *var;
    float *stats;
    struct run r;

    (void)state;
    run_init(&r, NULL);
    mean = run_segment(&r, "bn1.running_mean");
    var = run_segment(&r, "bn1.running_var");
    run_steps(&r, 1);
    stats = xmalloc(r.s.size[MEMORY_STATS]);
    r.s.backend->copy_out(r.s.device, stats, r.s.base[MEMORY_STATS],
                          r.s.size[MEMORY_STATS]);
    (void)run_weights(&r);
    for (int c = 0; c < C; c++) {
        int64_t first = session_flat(&r.s)->param_len;
        double m = (double)stats[mean->offset - first + c];
        double v = (double)stats[var->offset - first + c] * N / (N - 1);

        assert_true(v > 1e-4);
        if (!(fabs((double)r.weights[mean->offset + c] - 0.1 * m) <= 1e-6) ||
            !(fabs((double)r.weights[var->offset + c] - 0.9 - 0.1 * v) <= 1e-6))
            fail_msg("channel %d", c);
    }
    free(stats);
    run_release(&r);
}

/* Each batch of an update moves the running statistics, but only once it is applied. */
static void test_accumulation_statistics(void **state)
{
    struct run a;
    const struct segment *count;

    (void)state;
    run_init(&a, (const char *[]){"TRAIN.ACCUMULATION_STEPS", "3", NULL});
    count = run_segment(&a, "bn1.num_batches_tracked");
    run_steps(&a, 2);
    assert_true(run_weights(&a)[count->offset] == 0);
    run_steps(&a, 1);
    assert_true(run_weights(&a)[count->offset] == 3);
    run_steps(&a, 3);
    assert_true(run_weights(&a)[count->offset] == 6);
    run_release(&a);
    /* Epochs of four batches: an update of three, and one of a single batch. */
    run_init_of(&a, 4 * BATCH, (const char *[]){"TRAIN.ACCUMULATION_STEPS", "3", NULL});
    count = run_segment(&a, "bn1.num_batches_tracked");
    run_steps(&a, 4);
    assert_true(run_weights(&a)[count->offset] == 4);
    run_steps(&a, 2);
    assert_true(run_weights(&a)[count->offset] == 4);
    run_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accumulation),
        cmocka_unit_test(test_leftover),
        cmocka_unit_test(test_accumulation_statistics),
        cmocka_unit_test(test_running_statistics),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
