/*
 * Updates that are skipped because the gradients are not finite: the loss scale
 * decreases, and nothing else of the run changes.
 */
#include <math.h>

#include "base/alloc.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/ops/backends.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

/* fp16 with a loss scale that is far too large: nothing moves until it has decreased. */
static void test_overflow(void **state)
{
    static const char *const more[] = {
        "AMP_ENABLE",       "True", "AMP.DTYPE", "fp16", "AMP.INIT_SCALE", "1e12",
        "TRAIN.EMA.ENABLE", "True", NULL,
    };
    struct run r;
    float *before;
    struct control c;
    int skipped = 0;

    (void)state;
    run_init(&r, more);
    before = xmemdup(run_weights(&r), run_bytes(&r));
    run_steps(&r, 1);
    c = session_control(&r.s);
    assert_int_equal(c.overflow, 1);
    assert_int_equal(c.skipped_row, 1);
    assert_int_equal(c.step, 1);
    assert_int_equal(c.updates, 0);
    assert_true(c.loss_scale == 5e11);
    assert_memory_equal(run_weights(&r), before, run_bytes(&r));
    session_get(&r.s, MEMORY_EMA, r.weights);
    assert_memory_equal(r.weights, before, run_bytes(&r));
    while (session_control(&r.s).updates < 3 && skipped++ < 40)
        run_steps(&r, 1);
    c = session_control(&r.s);
    assert_int_equal(c.updates, 3);
    assert_true(c.skipped > 5 && c.skipped_row == 0);
    assert_true(run_weights(&r)[run_segment(&r, "bn1.num_batches_tracked")->offset] == 3);
    for (int64_t i = 0; i < session_flat(&r.s)->weights_len; i++)
        assert_true(isfinite(r.weights[i]));
    free(before);
    run_release(&r);
}

struct kept {
    float *weights, *ema, *moment;
};

static struct kept kept_take(struct run *r)
{
    const struct flat *f = session_flat(&r->s);
    size_t n = (size_t)f->weights_len * sizeof(float);
    struct kept s = {xcalloc(1, n), xcalloc(1, n), xcalloc(1, n)};

    session_get(&r->s, MEMORY_WEIGHTS, s.weights);
    session_get(&r->s, MEMORY_EMA, s.ema);
    session_get(&r->s, MEMORY_MOMENT1, s.moment);
    return s;
}

static void kept_release(struct kept *s)
{
    free(s->weights);
    free(s->ema);
    free(s->moment);
}

/*
 * One overflow in the middle of a run leaves no trace in weights, statistics, moments,
 * and the EMA, on the device or in host memory, and the run continues.
 */
static void check_injected_overflow(int group, const char *ema)
{
    const char *const more[] = {"AMP_ENABLE",
                                "True",
                                "AMP.DTYPE",
                                "fp16",
                                "AMP.INIT_SCALE",
                                "1024",
                                "TRAIN.EMA.ENABLE",
                                "True",
                                "TRAIN.EMA.DEVICE",
                                ema,
                                "TRAIN.ACCUMULATION_STEPS",
                                group == 1 ? "1" : "2",
                                NULL};
    struct run r;
    struct kept before, after;
    struct control c;
    size_t n;

    run_init(&r, more);
    n = run_bytes(&r);
    run_steps(&r, 4 * group);
    c = session_control(&r.s);
    assert_int_equal(c.updates, 4);
    before = kept_take(&r);
    c.loss_scale = 1e30;
    session_set_control(&r.s, &c);
    run_steps(&r, group);
    after = kept_take(&r);
    assert_memory_equal(after.weights, before.weights, n);
    assert_memory_equal(after.ema, before.ema, n);
    assert_memory_equal(after.moment, before.moment, n);
    c = session_control(&r.s);
    assert_int_equal(c.step, 5);
    assert_int_equal(c.updates, 4);
    assert_int_equal(c.skipped, 1);
    assert_true(c.loss_scale == 5e29);
    c.loss_scale = 1024;
    session_set_control(&r.s, &c);
    run_steps(&r, 3 * group);
    c = session_control(&r.s);
    assert_int_equal(c.updates, 7);
    assert_int_equal(c.skipped_row, 0);
    assert_true(run_weights(&r)[run_segment(&r, "bn1.num_batches_tracked")->offset] ==
                (float)(7 * group));
    kept_release(&before);
    kept_release(&after);
    run_release(&r);
}

static void test_injected_overflow(void **state)
{
    (void)state;
    check_injected_overflow(1, "device");
    check_injected_overflow(2, "device");
    check_injected_overflow(1, "cpu");
}

/* An injected overflow leaves no trace but in the counters and the loss scale. */
static void test_overflow_key(void **state)
{
    static const char *const more[] = {
        "AMP_ENABLE",
        "True",
        "AMP.DTYPE",
        "fp16",
        "TRAIN.EMA.ENABLE",
        "True",
        "AMP.INIT_SCALE",
        "256",
        "AMP.INJECT_OVERFLOW_AT",
        "3",
        NULL,
    };
    struct run r;
    float *weights, *ema;
    struct control c;

    (void)state;
    run_init(&r, more);
    run_steps(&r, 2);
    assert_int_equal(session_control(&r.s).skipped, 0);
    weights = xmemdup(run_weights(&r), run_bytes(&r));
    session_get(&r.s, MEMORY_EMA, r.weights);
    ema = xmemdup(r.weights, run_bytes(&r));
    run_steps(&r, 1);
    c = session_control(&r.s);
    assert_int_equal(c.skipped, 1);
    assert_int_equal(c.updates, 2);
    assert_true(c.loss_scale == 128);
    assert_memory_equal(run_weights(&r), weights, run_bytes(&r));
    session_get(&r.s, MEMORY_EMA, r.weights);
    assert_memory_equal(r.weights, ema, run_bytes(&r));
    run_steps(&r, 2);
    c = session_control(&r.s);
    assert_int_equal(c.skipped, 1);
    assert_int_equal(c.updates, 4);
    assert_memory_not_equal(run_weights(&r), weights, run_bytes(&r));
    free(weights);
    free(ema);
    run_release(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_injected_overflow),
        cmocka_unit_test(test_overflow_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
