/*
 * The meaning of single ops, compared with numbers worked out by hand or by counting:
 * exact metrics, mixing, masks, ties, and 16-bit floats that overflow.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/control.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/maxpool2d.h"
#include "ops/metrics.h"
#include "ops/metrics_formula.h"
#include "ops/mix.h"
#include "ops/mix_formula.h"
#include "tests/ops/meaning.h"

static void test_metrics(void **state)
{
    const struct op_case row = {.name = "metrics",
                                .build = case_metrics,
                                .small = {.dim = {6, 7}},
                                .no_gradient = true};
    const float
        nan = NAN,
        z[] = {
            9,   1, 2, 3,   4, 5, 6, /* label 0: rank 1 */
            1,   1, 1, 1,   1, 1, 1, /* label 4: four ties with lower indices: rank 5 */
            1,   1, 1, 1,   1, 1, 1, /* label 5: rank 6 */
            9,   9, 9, 9,   9, 9, 9, /* ignored */
            nan, 1, 9, 0,   0, 0, 0, /* label 2: the NaN counts as larger */
            0,   0, 0, nan, 0, 0, 0, /* label 3: a NaN is never correct */
        };
    const int32_t label[] = {0, 4, 5, -1, 2, 3};
    const struct metrics *m;
    struct case_run r;

    (void)state;
    open_run(&r, &row, DTYPE_F32);
    set(&r, 0, z);
    set(&r, 1, label);
    program_run(r.program);
    m = r.base[MEMORY_METRICS];
    assert_int_equal(m->count, 5);
    assert_int_equal(m->top1, 1);
    assert_int_equal(m->top5, 3);
    assert_int_equal(m->nonfinite, 1);
    assert_int_equal(m->runs, 1);
    close_to(m->loss_sum, 0, 0);
    close_to(m->measured, 0, 0);

    set(&r, 0, (const float[42]){0}); /* now the loss is log 7 */
    program_run(r.program);
    program_run(r.program);
    assert_int_equal(m->count, 15);
    assert_int_equal(m->top1, 1 + 2);
    assert_int_equal(m->top5, 3 + 2 * 4);
    assert_int_equal(m->nonfinite, 1);
    assert_int_equal(m->runs, 3);
    close_to(m->loss_sum, 10 * log(7), 1e-5);
    close_to(m->measured, 10, 0); /* not the 5 without a loss */
    case_run_release(&r);
}

/* A run with an infinite loss is counted separately and leaves the mean finite. */
static void test_metrics_infinite(void **state)
{
    struct metrics m = {0};

    (void)state;
    metrics_count(&m, 4, 3, 0.5f);
    metrics_count(&m, 4, 3, INFINITY);
    assert_int_equal(m.nonfinite, 1);
    close_to(m.measured, 3, 0);
    assert_int_equal(m.count, 8);
    close_to(m.loss_sum, 1.5, 0);
}

/* ---- mixing ---- */

static void test_beta(void **state)
{
    static const double alpha[] = {0.1, 0.8, 1, 4};
    enum { DRAWS = 20000 };

    (void)state;
    for (int k = 0; k < 4; k++) {
        double sum = 0, squares = 0;

        for (int i = 0; i < DRAWS; i++) {
            double v = mix_beta(3, 1, i, alpha[k]);

            assert_true(v >= 0 && v <= 1);
            sum += v;
            squares += (v - 0.5) * (v - 0.5);
        }
        close_to(sum / DRAWS, 0.5, 0.012);
        close_to(squares / DRAWS, 1 / (4 * (2 * alpha[k] + 1)), 0.004);
    }
}

/* The box of CutMix, its share of the area (1 - lam), and the frequency of each kind. */
static void test_mix_draws(void **state)
{
    const struct mix_rule both = {
        .mixup = 0.8f, .cutmix = 1, .prob = 0.75f, .switch_prob = 0.25f};
    const struct mix_rule sides = {.cutmix_min = 0.25f, .cutmix_max = 0.5f, .prob = 1};
    int mixup = 0, cutmix = 0;

    (void)state;
    for (int i = 0; i < 8000; i++) {
        struct mix_draw d = mix_draw(&both, 9, 2, i, 20, 30);

        cutmix += d.cutmix;
        mixup += !d.cutmix && d.lam < 1;
        assert_true(d.top >= 0 && d.top <= d.bottom && d.bottom <= 20);
        assert_true(d.left >= 0 && d.left <= d.right && d.right <= 30);
        if (d.cutmix)
            close_to(d.lam, 1 - (d.bottom - d.top) * (d.right - d.left) / 600.0, 1e-6);

        d = mix_draw(&sides, 9, 2, i, 20, 30);
        assert_true(d.bottom - d.top >= 5 && d.bottom - d.top < 10);
        assert_true(d.right - d.left >= 7 && d.right - d.left < 15);
    }
    close_to(cutmix / 8000.0, 0.75 * 0.25, 0.02);
    close_to(mixup / 8000.0, 0.75 * 0.75, 0.02);
}

static void mixed(const struct mix_attrs *a, int64_t n, float *y, float *lam)
{
    const struct op_case row = {.name = "mix",
                                .build = case_mix,
                                .small = {.dim = {n, 1, 8, 8}},
                                .attrs = a,
                                .no_gradient = true};
    float x[8 * 64];
    struct case_run r;

    for (int64_t i = 0; i < n * 64; i++)
        x[i] = (float)(int)(i / 64); /* each pixel is the number of its sample */
    open_run(&r, &row, DTYPE_F32);
    set(&r, 0, x);
    program_run(r.program);
    memcpy(y, out(&r, 0), (size_t)n * 64 * sizeof(float));
    memcpy(lam, out(&r, 1), (size_t)n * sizeof(float));
    case_run_release(&r);
}

static double mean(const float *v, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)v[i];
    return sum / n;
}

/* Sample i holds lam * i + (1 - lam) * partner on average, mixed or cut. */
static void test_mix(void **state)
{
    enum { N = 6 };
    float y[N * 64], lam[N];

    (void)state;
    for (int cut = 0; cut < 2; cut++)
        for (int mode = MIX_BATCH; mode <= MIX_ELEM; mode++) {
            const struct mix_attrs a = {
                .mixup = cut ? 0 : 1, .cutmix = cut ? 1 : 0, .prob = 1, .mode = mode};
            int same = 0, same_pair = 0;

            mixed(&a, N, y, lam);
            for (int i = 0; i < N; i++) {
                close_to(mean(y + (ptrdiff_t)64 * i, 64),
                         (double)lam[i] * i + (1 - (double)lam[i]) * (N - 1 - i), 1e-5);
                same += lam[i] >= lam[0] && lam[i] <= lam[0];
                same_pair += lam[i] >= lam[N - 1 - i] && lam[i] <= lam[N - 1 - i];
            }
            assert_true(mode == MIX_BATCH ? same == N : same < N);
            assert_true(mode == MIX_ELEM ? same_pair < N : same_pair == N);
        }
}

/* ---- dropout masks ---- */

/* Returns how many of 600 ones are kept, each as `factor` = 1 / (1 - rate). *place: a sum
 * over the kept positions, which differs between dropout masks. */
static int kept(const struct op_case *row, int64_t micro, float factor, int64_t *place)
{
    struct case_run r;
    struct control c;
    float ones[600];
    int n = 0;

    for (int i = 0; i < 600; i++)
        ones[i] = 1;
    open_run(&r, row, DTYPE_F32);
    set(&r, 0, ones);
    memcpy(&c, r.base[MEMORY_CONTROL], sizeof(c));
    c.micro = micro;
    memcpy(r.base[MEMORY_CONTROL], &c, sizeof(c));
    program_run(r.program);
    *place = 0;
    for (int i = 0; i < 600; i++) {
        float y = out(&r, 0)[i];

        assert_true(y == 0 || (y >= factor - 1e-5f && y <= factor + 1e-5f));
        n += y > 0;
        *place += y > 0 ? (int64_t)i * i : 0;
    }
    case_run_release(&r);
    return n;
}

static void test_dropout(void **state)
{
    const struct op_case each = {
        .name = "dropout", .build = case_dropout, .small = {.dim = {6, 10, 2, 5}}};
    const struct op_case path = {
        .name = "path", .build = case_drop_path, .small = {.dim = {60, 10, 1, 1}}};
    int64_t place[3];
    int n = kept(&each, 1, 1 / 0.7f, &place[0]);

    (void)state;
    assert_true(n > 380 && n < 460);
    assert_int_equal(kept(&each, 1, 1 / 0.7f, &place[1]), n);
    kept(&each, 2, 1 / 0.7f, &place[2]);
    assert_true(place[0] == place[1] && place[0] != place[2]);
    n = kept(&path, 1, 1 / 0.6f, &place[0]);
    assert_true(n % 10 == 0 && n > 220 && n < 500);
}

/* ---- pools ---- */

static void test_maxpool_ties(void **state)
{
    static const struct pool2d_attrs a = {.kernel = 2, .stride = 1};
    const struct op_case row = {.name = "ties",
                                .build = case_maxpool2d,
                                .small = {.dim = {1, 1, 2, 3}},
                                .attrs = &a};
    const float nan = NAN;
    const float *dx;
    struct case_run r;

    (void)state;
    open_run(&r, &row, DTYPE_F32);
    set(&r, 0, (const float[]){5, 7, 7, 7, 7, 1});
    memcpy(data(&r, r.seed), (const float[]){1, 10}, 2 * sizeof(float));
    program_run(r.program);
    dx = data(&r, r.build.input[0].tensor->grad);
    close_to(dx[1], 11, 0); /* the first of equal values wins both windows */
    close_to(dx[0] + dx[2] + dx[3] + dx[4] + dx[5], 0, 0);

    set(&r, 0, (const float[]){nan, 9, 0, 1, nan, 0});
    program_run(r.program);
    assert_true(isnan(out(&r, 0)[0]) && isnan(out(&r, 0)[1]));
    close_to(dx[4], 11, 0); /* the last NaN */
    case_run_release(&r);
}

static void test_avgpool_ceil(void **state)
{
    static const struct pool2d_attrs a = {.kernel = 2, .ceil_mode = 1};
    const struct op_case row = {.name = "ceil",
                                .build = case_avgpool2d,
                                .small = {.dim = {1, 1, 3, 3}},
                                .attrs = &a};
    struct case_run r;

    (void)state;
    open_run(&r, &row, DTYPE_F32);
    set(&r, 0, (const float[]){1, 2, 3, 4, 5, 6, 7, 8, 9});
    program_run(r.program);
    close_to(out(&r, 0)[0], 3, 1e-6);
    close_to(out(&r, 0)[1], 4.5, 1e-6); /* two pixels, not four */
    close_to(out(&r, 0)[2], 7.5, 1e-6);
    close_to(out(&r, 0)[3], 9, 1e-6);
    case_run_release(&r);
}

static void test_batchnorm(void **state)
{
    static const struct batchnorm_attrs a = {.eps = 0.1f};
    const struct op_case row = {.name = "bn",
                                .build = case_batchnorm,
                                .small = {.dim = {4, 1, 1, 1}},
                                .attrs = &a};
    const float *stats, *w;
    struct case_run r;

    (void)state;
    open_run(&r, &row, DTYPE_F32);
    set(&r, 0, (const float[]){1, 2, 3, 6});
    program_run(r.program);
    stats = r.base[MEMORY_STATS];
    close_to(stats[0], 3, 1e-6);
    close_to(stats[16], 3.5, 1e-6); /* biased: 14 / 4; segments are 64 bytes apart */
    w = data(&r, graph_find(r.graph, "bn.weight"));
    close_to(out(&r, 0)[3] - out(&r, 0)[0], 5 / sqrt(3.5 + 0.1) * (double)w[0], 1e-5);
    case_run_release(&r);
}

/* ---- 16-bit floats ---- */

static float stored(const struct case_run *r)
{
    uint16_t h;

    memcpy(&h, out(r, 0), sizeof(h));
    return r->build.out[0]->dtype == DTYPE_F16 ? fp16_to_float(h) : bf16_to_float(h);
}

/* One pixel times one weight in type d, by a convolution. */
static float product(enum dtype d, float x, float w)
{
    static const struct conv2d_attrs a = {.kernel = 1};
    const struct op_case row = {.name = "product",
                                .build = case_conv2d,
                                .small = {.dim = {1, 1, 1, 1}, .out = 1},
                                .attrs = &a};
    struct case_run r;
    float y;

    open_run(&r, &row, d);
    set(&r, 0, &x);
    *(float *)r.base[MEMORY_WEIGHTS] = w;
    program_refresh(r.program);
    program_run(r.program);
    y = stored(&r);
    case_run_release(&r);
    return y;
}

static void test_half(void **state)
{
    (void)state;
    assert_true(isinf(product(DTYPE_F16, 300, 300))); /* over 65504 */
    close_to(product(DTYPE_BF16, 300, 300), 90112, 0);
    close_to(product(DTYPE_F16, 1e-4f, 1e-4f), 0, 0); /* under 2^-25 */
    close_to(product(DTYPE_BF16, 1e-4f, 1e-4f), 1e-8, 1e-10);
    close_to(product(DTYPE_F16, 1.001f, 1), 1.0009765625, 0);
    close_to(product(DTYPE_BF16, 1.001f, 1), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_metrics),      cmocka_unit_test(test_beta),
        cmocka_unit_test(test_mix_draws),    cmocka_unit_test(test_mix),
        cmocka_unit_test(test_dropout),      cmocka_unit_test(test_maxpool_ties),
        cmocka_unit_test(test_avgpool_ceil), cmocka_unit_test(test_batchnorm),
        cmocka_unit_test(test_half),         cmocka_unit_test(test_metrics_infinite),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
