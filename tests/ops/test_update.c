/*
 * The other parts of an update besides the optimizer, on the reference: overflow check
 * and norm of the gradients, the loss scale as in torch's GradScaler, clipping, EMA, and
 * accumulation.
 */
#include <math.h>
#include <string.h>

#include "ops/control_formula.h"
#include "ops/ema.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "tests/test.h"
#include "tests/train/run_last.h"

enum { FLAT = 48 };

struct fixture {
    struct graph *g;
    struct builder b;
    struct tensor *grads, *weights, *control;
    struct control c;
    float grad[FLAT], weight[FLAT];
};

static struct tensor *flat(struct fixture *f, const char *name, enum memory m)
{
    return graph_state(&f->b, name, m, DTYPE_F32, 0, FLAT);
}

static void fixture_init(struct fixture *f)
{
    *f = (struct fixture){.g = graph_new(NULL, true)};
    f->b.g = f->g;
    f->b.phase = PHASE_UPDATE;
    f->grads = flat(f, "grads", MEMORY_GRADS);
    f->weights = flat(f, "weights", MEMORY_WEIGHTS);
    f->control = graph_state(&f->b, "control", MEMORY_CONTROL, DTYPE_U8, 0,
                             (int64_t)sizeof(struct control));
    f->c.loss_scale = 1;
}

static void fill(float *x, int n, float first)
{
    for (int i = 0; i < n; i++)
        x[i] = first + 0.37f * (float)(i % 7);
}

static void run_grad_stats(struct fixture *f)
{
    void *in[] = {f->grad}, *out[] = {&f->c};

    run_last(f->g, in, out);
}

static void test_grad_stats(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    struct fixture f;

    (void)state;
    fixture_init(&f);
    grad_stats(&f.b, f.grads, f.control);
    f.c.loss_scale = 4;
    f.grad[0] = 12;
    f.grad[FLAT - 1] = -16;
    run_grad_stats(&f);
    assert_int_equal(f.c.overflow, 0);
    assert_true(f.c.grad_norm == 5);
    assert_true(f.c.grad_multiplier == 0.25);
    for (int i = 0; i < 3; i++) {
        f.grad[FLAT - 1] = bad[i];
        run_grad_stats(&f);
        assert_int_equal(f.c.overflow, 1);
    }
    f.grad[FLAT - 1] = 3e38f; /* huge, but finite */
    run_grad_stats(&f);
    assert_int_equal(f.c.overflow, 0);
    graph_free(f.g);
}

/* torch.amp.GradScaler, growth_interval 3: the scale after each update. */
static void test_scaler(void **state)
{
    static const struct {
        int overflow;
        double scale;
    } row[] = {
        {1, 32768}, {1, 16384}, {0, 16384}, {0, 16384}, {1, 8192},  {0, 8192},
        {0, 8192},  {0, 16384}, {0, 16384}, {0, 16384}, {0, 32768}, {1, 16384},
    };
    const struct scaler s = {true, 2, 0.5, 1, 3, 1};
    struct control c = {.loss_scale = 65536};

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        c.overflow = row[i].overflow;
        control_finish(&c, &s, false);
        assert_true(c.loss_scale == row[i].scale);
    }
    assert_int_equal(c.step, 12);
    assert_int_equal(c.micro, 12);
    assert_int_equal(c.skipped, 4);
    assert_int_equal(c.skipped_row, 1);
    assert_int_equal(c.updates, 8);
    for (int i = 0; i < 100; i++) {
        c.overflow = 1;
        control_finish(&c, &s, false);
    }
    assert_true(c.loss_scale == 1); /* the minimum */
    assert_int_equal(c.skipped_row, 101);
}

static void test_clip(void **state)
{
    const struct schedule s = {.kind = SCHEDULE_STEP, .base = 0.5};
    struct control c = {.grad_norm = 4, .grad_multiplier = 0.25, .updates = 1999};

    (void)state;
    control_prepare(&c, &s, 8, 0.9, 2000);
    assert_true(c.grad_multiplier == 0.25); /* below the threshold */
    if (!(fabs(c.ema_decay - 0.9 * (1 - exp(-1))) <= 1e-15))
        fail();
    control_prepare(&c, &s, 1, 0.9, 0);
    if (!(fabs(c.grad_multiplier - 0.25 / (4 + 1e-6)) <= 1e-15))
        fail();
    assert_true(c.ema_decay == 0.9);
    assert_true(c.lr == 0.5);
}

static void test_ema(void **state)
{
    float ema_weights[FLAT], before[FLAT];
    struct fixture f;
    void *in[2], *out[] = {ema_weights};

    (void)state;
    fixture_init(&f);
    fill(f.weight, FLAT, -1);
    fill(ema_weights, FLAT, 2);
    memcpy(before, ema_weights, sizeof(before));
    in[EMA_WEIGHTS] = f.weight;
    in[EMA_CONTROL] = &f.c;
    ema(&f.b, f.weights, f.control, flat(&f, "ema", MEMORY_EMA));
    f.c.ema_decay = 0.75;
    f.c.overflow = 1;
    run_last(f.g, in, out);
    assert_memory_equal(ema_weights, before, sizeof(before));
    f.c.overflow = 0;
    run_last(f.g, in, out);
    for (int i = 0; i < FLAT; i++)
        if (!(fabsf(ema_weights[i] - (0.75f * before[i] + 0.25f * f.weight[i])) <= 1e-6f))
            fail_msg("element %d", i);
    graph_free(f.g);
}

static void test_accumulate(void **state)
{
    float sum[FLAT];
    struct fixture f;
    void *in[2], *out[] = {sum};

    (void)state;
    fixture_init(&f);
    for (int i = 0; i < FLAT; i++)
        sum[i] = NAN; /* left by an overflow: the first micro-batch overwrites it */
    in[GRADS_ACCUMULATE_GRADS] = f.grad;
    in[GRADS_ACCUMULATE_CONTROL] = &f.c;
    grads_accumulate(&f.b, f.grads, f.control, flat(&f, "sum", MEMORY_GRADS_SUM),
                     (struct accumulation){.group = 3});
    for (int k = 0; k < 6; k++) {
        f.c.micro = k;
        for (int i = 0; i < FLAT; i++)
            f.grad[i] = (float)(k + 1);
        run_last(f.g, in, out);
        assert_true(sum[FLAT - 1] == (k == 0   ? 1
                                      : k == 1 ? 3
                                      : k == 2 ? 6
                                      : k == 3 ? 4
                                      : k == 4 ? 9
                                               : 15));
    }
    graph_free(f.g);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_grad_stats), cmocka_unit_test(test_scaler),
        cmocka_unit_test(test_clip),       cmocka_unit_test(test_ema),
        cmocka_unit_test(test_accumulate),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
