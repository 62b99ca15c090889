/*
 * Whole training steps of a small ResNet on the reference device (or TEST_DEVICE): effect
 * of checkpointing, freezing, and EMAs on the weights.
 */
#include <math.h>

#include "base/alloc.h"
#include "base/half.h"
#include "graph/flat.h"
#include "session/state.h"
#include "tests/ops/backends.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

static struct metrics take_metrics(struct session *s)
{
    const struct metrics zero = {0};
    struct metrics m = session_metrics(s);

    session_set_metrics(s, &zero);
    return m;
}

static void assert_same_weights(struct run *a, struct run *b)
{
    assert_int_equal(run_bytes(a), run_bytes(b));
    assert_memory_equal(run_weights(a), run_weights(b), run_bytes(a));
}

static void test_learns(void **state)
{
    struct run r;
    struct metrics first, last;

    (void)state;
    run_init(&r,
             (const char *[]){"TRAIN.WEIGHT_DECAY", "0", "TRAIN.BASE_LR", "0.05", NULL});
    run_steps(&r, 5);
    first = take_metrics(&r.s);
    run_steps(&r, 20);
    (void)take_metrics(&r.s);
    run_steps(&r, 5);
    last = take_metrics(&r.s);
    assert_int_equal(first.count, 5 * BATCH);
    assert_int_equal(last.runs, 5);
    if (!(last.loss_sum < 0.5 * first.loss_sum))
        fail_msg("loss %g, then %g", first.loss_sum / 20, last.loss_sum / 20);
    assert_int_equal(session_control(&r.s).step, 30);
    assert_int_equal(session_control(&r.s).updates, 30);
    run_release(&r);
}

static void test_repeats(void **state)
{
    struct run a, b;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, NULL);
    run_steps(&a, 3);
    run_steps(&b, 3);
    assert_same_weights(&a, &b);
    run_steps(&b, 1);
    assert_memory_not_equal(run_weights(&a), run_weights(&b), run_bytes(&a));
    run_release(&a);
    run_release(&b);
}

/* Weights, moments, and control, which a checkpoint stores, are the whole state. */
static void test_restores(void **state)
{
    static const char *const more[] = {"TRAIN.OPTIMIZER.NAME", "adamw", NULL};
    struct run a, b;
    struct control c;
    float *m;

    (void)state;
    run_init(&a, more);
    run_init(&b, more);
    run_steps(&a, 2);
    m = xmalloc(run_bytes(&a));
    for (int i = 0; i < 3; i++) {
        enum memory index =
            (enum memory[]){MEMORY_WEIGHTS, MEMORY_MOMENT1, MEMORY_MOMENT2}[i];

        session_get(&a.s, index, m);
        session_set(&b.s, index, m);
    }
    free(m);
    c = session_control(&a.s);
    session_set_control(&b.s, &c);
    session_refresh(&b.s);
    run_steps(&a, 2);
    run_steps(&b, 2);
    assert_same_weights(&a, &b);
    run_release(&a);
    run_release(&b);
}

/* Recomputed activations: the same bits with a smaller arena. */
static void test_checkpointing(void **state)
{
    struct run a, b;
    size_t plain, less;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, (const char *[]){"TRAIN.USE_CHECKPOINT", "True", NULL});
    plain = program_need(a.s.program[SESSION_TRAIN], MEMORY_ARENA);
    less = program_need(b.s.program[SESSION_TRAIN], MEMORY_ARENA);
    assert_int_equal(a.s.build[SESSION_TRAIN].recomputed, 0);
    assert_true(b.s.build[SESSION_TRAIN].recomputed > 20);
    if (!(less < plain - plain / 4))
        fail_msg("arena %zu with checkpointing, %zu without", less, plain);
    run_steps(&a, 3);
    run_steps(&b, 3);
    assert_same_weights(&a, &b);
    run_release(&a);
    run_release(&b);
}

/* Only trained parameters have gradients and moments. */
static void check_freeze_memory(const struct run *all, const struct run *some)
{
    static const enum memory kinds[] = {MEMORY_GRADS, MEMORY_MOMENT1};
    const struct flat *f = session_flat(&some->s);
    int64_t trained = 0;

    for (int i = 0; i < f->nparam; i++)
        if (!strncmp(f->segment[i].tensor->name, "layer3", 6) ||
            !strncmp(f->segment[i].tensor->name, "fc", 2))
            trained += (f->segment[i].len + 15) / 16 * 16;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(session_bytes(&some->s, kinds[i]), 4 * trained);
        assert_true(session_bytes(&all->s, kinds[i]) > session_bytes(&some->s, kinds[i]));
    }
}

/* Frozen layers: weights and statistics stay, and no gradients are computed. */
static void test_freeze(void **state)
{
    struct run a, b;
    const struct segment *s;
    float *before;

    (void)state;
    run_init(&a, NULL);
    run_init(&b, (const char *[]){"TRAIN.FREEZE",
                                  "['conv1.*', 'bn1.*', 'layer1.*', 'layer2.*']", NULL});
    assert_true(b.s.build[SESSION_TRAIN].graph->nnode <
                a.s.build[SESSION_TRAIN].graph->nnode - 40);
    assert_true(program_need(b.s.program[SESSION_TRAIN], MEMORY_ARENA) <
                program_need(a.s.program[SESSION_TRAIN], MEMORY_ARENA));
    check_freeze_memory(&a, &b);
    before = xmemdup(run_weights(&b), run_bytes(&b));
    run_steps(&b, 2);
    (void)run_weights(&b);
    for (int i = 0; i < session_flat(&b.s)->nsegment; i++) {
        s = &session_flat(&b.s)->segment[i];
        bool frozen =
            strncmp(s->tensor->name, "layer3", 6) && strncmp(s->tensor->name, "fc", 2);
        bool same = !memcmp(before + s->offset, b.weights + s->offset,
                            (size_t)s->len * sizeof(float));

        if (same != frozen)
            fail_msg("'%s' %s", s->tensor->name, same ? "stayed" : "moved");
    }
    free(before);
    run_release(&a);
    run_release(&b);
}

/* The EMA in host memory is bit for bit the one on the device. */
static void test_ema_devices(void **state)
{
    struct run a, b;
    float *x, *y;

    (void)state;
    run_init(&a, (const char *[]){"TRAIN.EMA.ENABLE", "True", NULL});
    run_init(&b, (const char *[]){"TRAIN.EMA.ENABLE", "True", "TRAIN.EMA.DEVICE", "cpu",
                                  NULL});
    assert_true(b.s.base[MEMORY_EMA] == NULL);
    run_steps(&a, 3);
    run_steps(&b, 3);
    assert_same_weights(&a, &b);
    x = xmalloc(run_bytes(&a));
    y = xmalloc(run_bytes(&a));
    session_get(&a.s, MEMORY_EMA, x);
    session_get(&b.s, MEMORY_EMA, y);
    assert_memory_equal(x, y, run_bytes(&a));
    assert_memory_not_equal(x, a.weights, run_bytes(&a));
    free(x);
    free(y);
    run_release(&a);
    run_release(&b);
}

/*
 * e += (1 - decay (1 - exp(-update / ramp))) (w - e), for running statistics as for
 * weights; e starts as w.
 */
static void test_ema_values(void **state)
{
    struct run r;
    int64_t len, params, moved = 0;
    double *want;
    float *e;

    (void)state;
    run_init(&r, (const char *[]){"TRAIN.EMA.ENABLE", "True", "TRAIN.EMA.DECAY", "0.9",
                                  "TRAIN.EMA.RAMP_STEPS", "2", NULL});
    len = session_flat(&r.s)->weights_len;
    params = session_flat(&r.s)->param_len;
    want = xcalloc((size_t)len, sizeof(*want));
    e = xmalloc(run_bytes(&r));
    for (int64_t i = 0; i < len; i++)
        want[i] = (double)run_weights(&r)[i];
    for (int update = 1; update <= 3; update++) {
        double rate = 1 - 0.9 * (1 - exp(-update / 2.0));

        run_steps(&r, 1);
        (void)run_weights(&r);
        for (int64_t i = 0; i < len; i++)
            want[i] += rate * ((double)r.weights[i] - want[i]);
    }
    session_get(&r.s, MEMORY_EMA, e);
    for (int64_t i = 0; i < len; i++) {
        double w = (double)r.weights[i];

        if (!(fabs((double)e[i] - want[i]) <= 1e-6 * (1 + fabs(want[i]))))
            fail_msg("element %d: %.8g, not %.8g", (int)i, (double)e[i], want[i]);
        moved += i >= params && fabs(w - want[i]) > 1e-4;
    }
    if (moved < (len - params) / 2) /* otherwise running statistics are not tested */
        fail_msg("%d of %d moved", (int)moved, (int)(len - params));
    free(want);
    free(e);
    run_release(&r);
}

/* Evaluates two batches; the first `valid` samples of each count. */
static void evaluate(struct run *r, int valid, struct metrics m[SESSION_WEIGHTS])
{
    uint8_t pixels[BATCH * SIDE * SIDE * 3];
    int32_t labels[BATCH];

    session_eval_begin(&r->s, true);
    for (int k = 0; k < 2; k++) {
        make_batch(pixels, labels, BATCH, 3 + k);
        for (int i = valid; i < BATCH; i++)
            labels[i] = -1;
        session_eval(&r->s, pixels, labels);
    }
    for (int i = 0; i < SESSION_WEIGHTS; i++)
        m[i] = session_eval_metrics(&r->s, (enum session_weights)i);
}

/* Returns the loss of both batches, computed by a session that evaluates only these
 * weights. */
static double loss_of(const struct run *r, enum memory index)
{
    struct metrics m[SESSION_WEIGHTS];
    struct run e;
    double loss;

    run_init(&e, (const char *[]){"DEVICE", r->cfg.device, NULL});
    session_get(&r->s, index, e.weights);
    session_set(&e.s, MEMORY_WEIGHTS, e.weights);
    evaluate(&e, BATCH, m);
    loss = m[SESSION_RAW].loss_sum;
    assert_int_equal(m[SESSION_EMA].count, 0);
    run_release(&e);
    return loss;
}

/*
 * Weights and EMA are evaluated on the same batches, with the EMA on the device and in
 * host memory, and again after more updates; evaluation changes no update. On the CPU
 * packed weights must follow.
 */
static void check_evaluates(const char *device)
{
    struct run a, b, c;
    struct metrics m[SESSION_WEIGHTS], host[SESSION_WEIGHTS];

    run_init(&a, (const char *[]){"TRAIN.EMA.ENABLE", "True", "DEVICE", device, NULL});
    run_init(&b, (const char *[]){"TRAIN.EMA.ENABLE", "True", "TRAIN.EMA.DEVICE", "cpu",
                                  "DEVICE", device, NULL});
    run_init(&c, (const char *[]){"DEVICE", device, NULL});
    for (int again = 0; again < 2; again++) {
        run_steps(&a, 2);
        run_steps(&b, 2);
        run_steps(&c, 2);
        evaluate(&a, BATCH, m);
        evaluate(&b, BATCH, host);
        assert_true(m[SESSION_RAW].loss_sum == loss_of(&a, MEMORY_WEIGHTS));
        assert_true(m[SESSION_EMA].loss_sum == loss_of(&a, MEMORY_EMA));
        assert_true(m[SESSION_RAW].loss_sum != m[SESSION_EMA].loss_sum);
        assert_memory_equal(m, host, sizeof(m));
        assert_int_equal(m[SESSION_EMA].count, 2 * BATCH);
        assert_same_weights(&a, &c);
        assert_same_weights(&b, &c);
    }
    evaluate(&a, 1, m);
    assert_int_equal(m[SESSION_RAW].count, 2);
    assert_int_equal(m[SESSION_EMA].count, 2);
    assert_int_equal(take_metrics(&a.s).runs, 4); /* training's own */
    run_release(&a);
    run_release(&b);
    run_release(&c);
}

static void test_evaluates(void **state)
{
    (void)state;
    check_evaluates(test_device());
    check_evaluates("cpu");
}

/* O3 has no master weights: convolution weights are rounded to bf16, those of norms are
 * not. */
static void test_o3(void **state)
{
    static const char *const more[] = {
        "AMP_ENABLE", "True", "AMP_OPT_LEVEL", "O3", "AMP.DTYPE", "bf16", NULL};
    struct run r;
    int rounded = 0, full = 0;

    (void)state;
    run_init(&r, more);
    for (int step = 0; step < 2; step++) {
        const struct segment *conv = run_segment(&r, "conv1.weight");
        const struct segment *norm = run_segment(&r, "bn1.bias");

        (void)run_weights(&r);
        for (int64_t i = conv->offset; i < conv->offset + conv->len; i++) {
            assert_true(bf16_to_float(bf16_from_float(r.weights[i])) == r.weights[i]);
            rounded += r.weights[i] != 0;
        }
        for (int64_t i = norm->offset; i < norm->offset + norm->len; i++)
            full += bf16_to_float(bf16_from_float(r.weights[i])) != r.weights[i];
        run_steps(&r, 1);
    }
    assert_true(rounded > 500 && full > 5);
    run_release(&r);
}

/* session_mix() switches to a program with or without mixup, and the run continues in
 * it. */
static void test_mix(void **state)
{
    struct run a, b;

    (void)state;
    run_init(&a, (const char *[]){"AUG.MIXUP", "0.8", NULL});
    run_init(&b, NULL);
    session_mix(&a.s, false);
    run_steps(&a, 2);
    run_steps(&b, 2);
    assert_same_weights(&a, &b);
    session_mix(&a.s, true);
    run_steps(&a, 1);
    session_mix(&b.s, true); /* no mixup in this run: does nothing */
    run_steps(&b, 1);
    assert_memory_not_equal(run_weights(&a), run_weights(&b), run_bytes(&a));
    run_release(&a);
    run_release(&b);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_learns),     cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_restores),   cmocka_unit_test(test_checkpointing),
        cmocka_unit_test(test_freeze),     cmocka_unit_test(test_ema_devices),
        cmocka_unit_test(test_ema_values), cmocka_unit_test(test_evaluates),
        cmocka_unit_test(test_o3),         cmocka_unit_test(test_mix),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
