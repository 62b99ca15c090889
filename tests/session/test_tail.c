/*
 * The last batch of an epoch with DATA.DROP_LAST False equals the update of a run with
 * that batch size, bit for bit, batch norms included, and later updates continue from
 * there.
 */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/ops/backends.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

enum { IMAGES = 11, TAIL = IMAGES % BATCH };

static void step(struct run *r, int n, int first)
{
    uint8_t pixels[BATCH * SIDE * SIDE * 3];
    int32_t labels[BATCH];

    make_batch(pixels, labels, BATCH, first); /* samples after the n must not be read */
    assert_int_equal(session_next_batch(&r->s), n);
    (void)session_step(&r->s, pixels, labels);
}

/* Copies weights, momentum, and counters to a run whose counts differ. */
static void hand_over(struct run *src, struct run *dst, int64_t micro)
{
    static const enum memory memory[] = {MEMORY_WEIGHTS, MEMORY_MOMENT1};
    struct control c = session_control(&src->s);
    float *all = xmalloc(run_bytes(src));

    for (int i = 0; i < 2; i++) {
        session_get(&src->s, memory[i], all);
        session_set(&dst->s, memory[i], all);
    }
    c.micro = micro;
    session_set_control(&dst->s, &c);
    session_refresh(&dst->s);
    free(all);
}

static void check_same(struct run *a, struct run *b)
{
    assert_memory_equal(run_weights(a), run_weights(b), run_bytes(a));
}

static void test_tail(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *device = i ? "cpu" : test_device();
        const char *more[] = {"DEVICE",   device,           "TRAIN.LR_SCHEDULER.NAME",
                              "constant", "DATA.DROP_LAST", "False",
                              NULL};
        const char *small[] = {
            "DEVICE", device, "TRAIN.LR_SCHEDULER.NAME", "constant", "DATA.BATCH_SIZE",
            "3",      NULL};
        struct run whole, four, three;

        assert_int_equal(TAIL, 3);
        run_init_of(&whole, IMAGES, more);
        assert_int_equal(whole.s.plan.updates_per_epoch, 3);
        run_init_of(&four, 0, more);
        run_init_of(&three, 0, small);
        for (int epoch = 0; epoch < 2; epoch++) {
            for (int k = 0; k < 2; k++) {
                step(&whole, BATCH, BATCH * k + epoch);
                step(&four, BATCH, BATCH * k + epoch);
            }
            check_same(&whole, &four);
            step(&whole, TAIL, 2 * BATCH + epoch);
            hand_over(&four, &three, four.s.micro);
            step(&three, TAIL, 2 * BATCH + epoch);
            check_same(&whole, &three);
            hand_over(&three, &four, three.s.micro);
        }
        assert_int_equal(session_control(&whole.s).step, 6);
        assert_int_equal(session_metrics(&whole.s).count, 2 * IMAGES);
        run_release(&whole);
        run_release(&four);
        run_release(&three);
    }
}

/* Equal up to the rounding that the sum over a group adds. */
static void check_close(struct run *a, struct run *b, const float *before)
{
    const float *x = run_weights(a), *y = run_weights(b);
    double worst = 0, moved = 0;

    for (int64_t i = 0; i < session_flat(&a->s)->param_len; i++) {
        worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
        moved = fmax(moved, fabs((double)x[i] - (double)before[i]));
    }
    if (!(worst <= 1e-5 * moved))
        fail_msg("apart by %g of %g", worst, moved);
}

/* Groups of two of the three batches: the last group is only the small one. */
static void test_accumulated(void **state)
{
    const char *more[] = {"TRAIN.ACCUMULATION_STEPS", "2", "DATA.DROP_LAST", "False",
                          NULL};
    const char *small[] = {"DATA.BATCH_SIZE", "3", "TRAIN.LR_SCHEDULER.NAME", "constant",
                           NULL};
    struct run whole, three;
    float *before;

    (void)state;
    run_init_of(&whole, IMAGES, more);
    run_init_of(&three, 0, small);
    assert_int_equal(whole.s.plan.updates_per_epoch, 2);
    step(&whole, BATCH, 0);
    step(&whole, BATCH, BATCH);
    hand_over(&whole, &three, whole.s.micro);
    before = xmemdup(run_weights(&whole), run_bytes(&whole));
    step(&whole, TAIL, 2 * BATCH);
    step(&three, TAIL, 2 * BATCH);
    check_close(&whole, &three, before);
    free(before);
    run_release(&whole);
    run_release(&three);
}

/* Mixing ends: all programs are recompiled, including this one. */
static void test_mix_off(void **state)
{
    const char *more[] = {"DATA.DROP_LAST", "False", "AUG.MIXUP", "0.8", NULL};
    struct run r;

    (void)state;
    run_init_of(&r, IMAGES, more);
    step(&r, BATCH, 0);
    step(&r, BATCH, BATCH);
    session_mix(&r.s, false);
    step(&r, TAIL, 2 * BATCH);
    step(&r, BATCH, 0);
    assert_int_equal(session_control(&r.s).updates, 4);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_accumulated),
        cmocka_unit_test(test_mix_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
