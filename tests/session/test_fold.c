/*
 * MODEL.FOLD_BN: a ResNet of bottlenecks trains folded as unfolded, as closely as rounding allows, which
 * a run shows whose first weights differ in the last digits. Statistics, checkpoints'
 * tensors, and the number of parameters are the same. With TEST_NO_SLOW, for a few updates.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "graph/flat.h"
#include "ops/batchnorm.h"
#include "ops/norm_fold.h"
#include "session/state.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

enum { IMAGE = 32, IMAGES = 8, STEPS = 20 };

struct trained {
    double loss[STEPS];
    float *weights;
    int64_t len;
    int norms, folded;
};

static int count(const struct run *r, const struct op *op)
{
    const struct graph *g = r->s.build[SESSION_TRAIN].graph;
    int n = 0;

    for (int i = 0; i < g->nnode; i++)
        n += g->node[i]->op == op;
    return n;
}

static void batch(uint8_t *pixels, int32_t *labels, int step)
{
    for (int i = 0; i < IMAGES; i++) {
        labels[i] = (step * 3 + i) % CLASSES;
        for (int k = 0; k < IMAGE * IMAGE * 3; k++) {
            struct philox p = philox(
                1, PHILOX_TEST, (uint64_t)(labels[i] + 10 * (step % 2)), (uint64_t)k);

            pixels[i * IMAGE * IMAGE * 3 + k] =
                (uint8_t)(15 * labels[i] + (int)philox_below(p.v[0], 90));
        }
    }
}

/* `nudge`: of the initial weights, relative. */
static void train(struct trained *t, const char *fold, const char *amp, double nudge,
                  int steps)
{
    static uint8_t pixels[IMAGES * IMAGE * IMAGE * 3];
    int32_t labels[IMAGES];
    double before = 0;
    struct run r;

    run_init(&r, (const char *[]){"DEVICE", "cpu", "THREADS", "1", "MODEL.NAME",
                                  "resnet26", "DATA.IMG_SIZE", "32", "DATA.BATCH_SIZE",
                                  "8", "TRAIN.BASE_LR", "0.002", "MODEL.FOLD_BN", fold,
                                  "AMP_ENABLE", amp, "AMP.DTYPE", "bf16", NULL});
    t->norms = count(&r, &op_batchnorm);
    t->folded = count(&r, &op_norm_fold);
    t->len = session_flat(&r.s)->weights_len;
    t->weights = xcalloc((size_t)t->len, sizeof(float));
    session_get(&r.s, MEMORY_WEIGHTS, t->weights);
    for (int64_t i = 0; i < session_flat(&r.s)->param_len; i++)
        t->weights[i] *= (float)(1 + (i % 2 ? nudge : -nudge));
    session_set(&r.s, MEMORY_WEIGHTS, t->weights);
    session_refresh(&r.s);
    for (int i = 0; i < steps; i++) {
        struct metrics m;

        batch(pixels, labels, i);
        (void)session_step(&r.s, pixels, labels);
        m = session_metrics(&r.s);
        t->loss[i] = m.loss_sum - before;
        before = m.loss_sum;
    }
    session_get(&r.s, MEMORY_WEIGHTS, t->weights);
    run_release(&r);
}

/* Distance of the weights relative to their size; NaN stays. */
static double distance(const struct trained *a, const struct trained *b)
{
    double d = 0, size = 0;

    assert_int_equal(a->len, b->len);
    for (int64_t i = 0; i < a->len; i++) {
        double e = (double)a->weights[i] - (double)b->weights[i];

        d += e * e;
        size += (double)a->weights[i] * (double)a->weights[i];
    }
    return sqrt(d / size);
}

static double loss_apart(const struct trained *a, const struct trained *b, int steps)
{
    double max = 0;

    for (int i = 0; i < steps; i++) {
        double d = fabs(a->loss[i] - b->loss[i]) / a->loss[i];

        if (!(d <= max))
            max = d;
    }
    return max;
}

static void compare(const char *amp, double nudge, int steps)
{
    struct trained plain, nudged, folded;
    double rounding, fold;

    train(&plain, "none", amp, 0, steps);
    train(&nudged, "none", amp, nudge, steps);
    train(&folded, "all", amp, 0, steps);
    assert_int_equal(plain.norms, 29);
    assert_int_equal(plain.folded, 0);
    assert_int_equal(folded.folded, 9); /* 8 blocks, and a shortcut with stride 1 */
    assert_int_equal(folded.norms, 20);
    rounding = distance(&plain, &nudged);
    fold = distance(&plain, &folded);
    print_message("weights: rounding %.2e, folded %.2e; loss: %.2e, %.2e; last loss %.4f "
                  "after %.4f\n",
                  rounding, fold, loss_apart(&plain, &nudged, steps),
                  loss_apart(&plain, &folded, steps), folded.loss[steps - 1],
                  folded.loss[0]);
    assert_true(fold > 0);
    assert_true(fold < 3 * rounding);
    assert_true(loss_apart(&plain, &folded, steps) <
                3 * loss_apart(&plain, &nudged, steps) + 1e-5);
    free(plain.weights);
    free(nudged.weights);
    free(folded.weights);
}

static void test_fp32(void **state)
{
    (void)state;
    compare("False", 3e-7, getenv("TEST_NO_SLOW") ? 4 : STEPS);
}

static void test_bf16(void **state)
{
    (void)state;
    compare("True", 2e-3, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fp32),
                                       cmocka_unit_test(test_bf16)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
