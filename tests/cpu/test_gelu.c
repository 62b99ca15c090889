/*
 * The gelu loops of every instruction set that this processor has, against erfc in
 * double: errors in ulp, from far below zero to far above.
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "cpu/simd/loops.h"
#include "tests/test.h"

enum { MOST = 4096 };

static const struct loops *const tables[] = {
    &loops_base,
#ifdef __x86_64__
    &loops_avx2,
    &loops_avx512,
    &loops_avx512bf16,
#endif
};

/* Calls f(loops) for all loops up to the best that the processor has. */
static void for_each_isa(void (*f)(const struct loops *))
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
        f(tables[i]);
        if (tables[i] == loops_best())
            return;
    }
}

static double cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double density(double x)
{
    return exp(-x * x / 2) / sqrt(2 * acos(-1));
}

/* Returns the fp32 ulp at v, at least that of a normal number. */
static double unit(double v)
{
    int e;

    (void)frexp(fmax(fabs(v), 0x1p-126), &e);
    return ldexp(1, e - 24);
}

struct errors {
    /* largest and summed error of values in ulp; error of slopes */
    double largest, sum, slope;
    int n;
};

static void measure(const struct loops *l, const float *x, int n, struct errors *e)
{
    static float y[MOST], dx[MOST], ones[MOST];

    for (int i = 0; i < n; i++)
        ones[i] = 1;
    l->gelu_forward(DTYPE_F32, x, y, n, false, false);
    l->gelu_grad(DTYPE_F32, x, ones, dx, n, false, false);
    for (int i = 0; i < n; i++) {
        double want = x[i] * cdf(x[i]), slope = cdf(x[i]) + x[i] * density(x[i]);
        double error = fabs(y[i] - want) / unit(want), off = fabs(dx[i] - slope);

        if (!(error <= 1e9) || !(off <= 1e9)) /* NaN */
            fail_msg("%s: gelu of %g is %g, its slope %g", l->isa, (double)x[i],
                     (double)y[i], (double)dx[i]);
        e->largest = fmax(e->largest, error);
        e->sum += error;
        e->slope = fmax(e->slope, off / fmax(fabs(x[i]) * density(x[i]), cdf(x[i])));
    }
    e->n += n;
}

/* Every 97th fp32 number from 2^-20 to 13, of both signs. */
static void check_values(const struct loops *l)
{
    const uint32_t begin = 0x35800000, end = 0x41500000;
    static float x[MOST];
    struct errors e = {0};
    int n = 0;

    for (uint32_t u = begin; u < end; u += 97) {
        uint32_t bits = u | (u / 97 % 2) << 31;

        memcpy(&x[n++], &bits, sizeof(bits));
        if (n == MOST || u + 97 >= end) {
            measure(l, x, n, &e);
            n = 0;
        }
    }
    print_message("%s: largest error %.2f units, mean %.2f; slope %.2g\n", l->isa,
                  e.largest, e.sum / e.n, e.slope);
    assert_true(e.n > 100000);
    assert_true(e.largest <= (l == &loops_base ? 8.5 : 5.5));
    assert_true(e.sum / e.n <= (l == &loops_base ? 1.2 : 0.65));
    assert_true(e.slope <= 1e-6);
}

static void test_values(void **state)
{
    (void)state;
    for_each_isa(check_values);
}

/* Returns the error of a bf16 in units of its last place. */
static double half_error(uint16_t got, double want)
{
    int e;

    (void)frexp(fmax(fabs(want), 0x1p-126), &e);
    return fabs(bf16_to_float(got) - want) / ldexp(1, e - 8);
}

/* Every bf16 from 2^-20 to 13, of both signs: quick polynomials add little to the error
 * of rounding, half a unit. */
static void check_halves(const struct loops *l)
{
    enum { FROM = 0x3580, TO = 0x4150, N = 2 * (TO - FROM) };
    static uint16_t x[N], y[N], dx[N], ones[N];
    double max = 0, slope = 0;

    for (int i = 0; i < N; i++) {
        x[i] = (uint16_t)((FROM + i / 2) | i % 2 << 15);
        ones[i] = 0x3f80;
    }
    l->gelu_forward(DTYPE_BF16, x, y, N, false, false);
    l->gelu_grad(DTYPE_BF16, x, ones, dx, N, false, false);
    for (int i = 0; i < N; i++) {
        double v = bf16_to_float(x[i]);
        double error = half_error(y[i], v * cdf(v));
        double off = half_error(dx[i], cdf(v) + v * density(v));

        if (!(error <= 1e9) || !(off <= 1e9)) /* NaN */
            fail_msg("%s: bf16 gelu of %g", l->isa, v);
        max = fmax(max, error);
        if (fabs(v + 0.7518) > 0.02) /* at its zero, sums cancel */
            slope = fmax(slope, off);
    }
    print_message("%s: largest error in bf16 %.3f units, of slopes %.3f\n", l->isa, max,
                  slope);
    assert_true(max <= 0.51);
    assert_true(slope <= 0.53);
}

static void test_halves(void **state)
{
    (void)state;
    for_each_isa(check_halves);
}

static void check_ends(const struct loops *l)
{
    const float x[] = {0, -0.0f, 14, -14, 1e30f, -1e30f, INFINITY, NAN, -NAN, -13.2f};
    enum { N = sizeof(x) / sizeof(x[0]) };
    float y[N], dx[N], dy[N];

    for (int form = 0; form < 2; form++) {
        for (int i = 0; i < N; i++)
            dy[i] = 2;
        l->gelu_forward(DTYPE_F32, x, y, N, form, false);
        l->gelu_grad(DTYPE_F32, x, dy, dx, N, form, false);
        assert_true(y[0] == 0 && y[1] == 0 && signbit(y[1]));
        assert_true(y[2] == 14 && fabsf(y[3]) < 1e-30f);
        assert_true(y[4] == 1e30f && y[5] == 0 && y[6] == INFINITY);
        assert_true(isnan(y[7]) && isnan(y[8]) && isnan(dx[7]) && isnan(dx[8]));
        assert_true(fabsf(y[9]) < 1e-30f);
        assert_true(dx[0] == 1 && dx[1] == 1 && dx[2] == 2 && fabsf(dx[3]) < 1e-30f);
    }
}

static void test_ends(void **state)
{
    (void)state;
    for_each_isa(check_ends);
}

/* Any number of elements, in place, of both types, gives the same as the whole array, and
 * nothing beyond is written. */
static void check_lengths(const struct loops *l)
{
    enum { N = 150 };
    float x[N], whole[N], y[N];
    uint16_t half[N], halves[N];

    for (int i = 0; i < N; i++)
        x[i] = bf16_to_float(bf16_from_float((float)(i - N / 2) / 12));
    l->gelu_forward(DTYPE_F32, x, whole, N, false, false);
    for (int i = 0; i < N; i++)
        halves[i] = bf16_from_float(x[i]);
    l->gelu_forward(DTYPE_BF16, halves, halves, N, false, false);
    for (int n = 0; n < N; n++) {
        memcpy(y, x, sizeof(y));
        l->gelu_forward(DTYPE_F32, y, y, n, false, false);
        assert_memory_equal(y, whole, (size_t)n * sizeof(float));
        assert_memory_equal(y + n, x + n, (size_t)(N - n) * sizeof(float));
        for (int i = 0; i < N; i++)
            half[i] = bf16_from_float(x[i]);
        l->gelu_forward(DTYPE_BF16, half, half, n, false, false);
        for (int i = 0; i < N; i++)
            assert_int_equal(half[i], i < n ? halves[i] : bf16_from_float(x[i]));
    }
}

static void test_lengths(void **state)
{
    (void)state;
    for_each_isa(check_lengths);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_halves),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_lengths),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
