/* base: Philox against the authors' vectors, 16-bit floats exhaustively. */
#include "base/half.h"
#include "base/philox.h"
#include "tests/test.h"

static void test_philox_vectors(void **state)
{
    /* kat_vectors of the Random123 distribution: counter, key, result */
    static const struct {
        uint64_t element, step, seed;
        uint32_t want[4];
    } row[] = {
        {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {UINT64_MAX,
         UINT64_MAX,
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {0x85a308d3243f6a88,
         0x0370734413198a2e,
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        struct philox r = philox(row[i].seed, 0, row[i].step, row[i].element);

        for (int k = 0; k < 4; k++)
            assert_int_equal(r.v[k], row[i].want[k]);
    }
}

/* Each argument changes the result, and stream and step are not interchangeable. */
static void test_philox_arguments(void **state)
{
    const struct philox r[] = {
        philox(1, 1, 1, 1),          philox(2, 1, 1, 1),
        philox(1, 2, 1, 1),          philox(1, 1, 2, 1),
        philox(1, 1, 1, 2),          philox(1ull << 32, 1, 1, 1),
        philox(1, 1, 1ull << 32, 1), philox(1, 1, 1, 1ull << 32),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(r) / sizeof(r[0]); i++)
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(&r[i], &r[k], sizeof(r[i]));
}

static void test_philox_derived(void **state)
{
    double sum = 0, squares = 0, normal = 0, normal2 = 0;
    int count[10] = {0}, n = 200000;

    (void)state;
    if (!(philox_uniform(0) == 0) || !(philox_uniform(UINT32_MAX) < 1))
        fail();
    assert_int_equal(philox_below(0, 10), 0);
    assert_int_equal(philox_below(UINT32_MAX, 10), 9);
    for (int i = 0; i < n; i++) {
        struct philox r = philox(3, PHILOX_TEST, 0, (uint64_t)i);
        float u = philox_uniform(r.v[0]), g = philox_normal(r.v[1], r.v[2]);

        sum += u;
        squares += u * u;
        normal += g;
        normal2 += g * g;
        count[philox_below(r.v[3], 10)]++;
        if (!(u >= 0 && u < 1) || !isfinite(g))
            fail();
    }
    /* five standard errors */
    if (!(fabs(sum / n - 0.5) < 0.0033) || !(fabs(squares / n - 1.0 / 3) < 0.0034) ||
        !(fabs(normal / n) < 0.012) || !(fabs(normal2 / n - 1) < 0.016))
        fail_msg("%g %g %g %g", sum / n, squares / n, normal / n, normal2 / n);
    for (int i = 0; i < 10; i++)
        assert_in_range(count[i], n / 10 - 680, n / 10 + 680);
    if (!isfinite(philox_normal(0, 0)) ||
        !isfinite(philox_normal(UINT32_MAX, UINT32_MAX)))
        fail();
}

struct format {
    const char *name;
    int exponent_bits, mantissa_bits;
    float (*to_float)(uint16_t h);
    uint16_t (*from_float)(float f);
};

static const struct format formats[] = {
    {"fp16", 5, 10, fp16_to_float, fp16_from_float},
    {"bf16", 8, 7, bf16_to_float, bf16_from_float},
};

static int half_bias(const struct format *f)
{
    return (1 << (f->exponent_bits - 1)) - 1;
}

static uint16_t half_infinity(const struct format *f)
{
    return (uint16_t)(((1 << f->exponent_bits) - 1) << f->mantissa_bits);
}

/* The value of a finite bit pattern, by definition of the format. */
static double half_value(const struct format *f, uint16_t h)
{
    int mantissa = h & ((1 << f->mantissa_bits) - 1);
    int exponent = (h & 0x7fff) >> f->mantissa_bits;
    double v = exponent ? ldexp((1 << f->mantissa_bits) + mantissa,
                                exponent - half_bias(f) - f->mantissa_bits)
                        : ldexp(mantissa, 1 - half_bias(f) - f->mantissa_bits);

    return h & 0x8000 ? -v : v;
}

static void test_half_patterns(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct format *f = &formats[k];
        int finite = 0;

        for (uint32_t u = 0; u < 65536; u++) {
            uint16_t h = (uint16_t)u, magnitude = h & 0x7fff, back;
            float x = f->to_float(h);

            back = f->from_float(x);
            if (magnitude > half_infinity(f)) { /* a NaN remains a NaN and keeps its
                                                 * sign */
                assert_true(isnan(x));
                assert_true((back & 0x7fff) > half_infinity(f));
                assert_int_equal(back & 0x8000, h & 0x8000);
                continue;
            }
            assert_int_equal(back, h);
            if (magnitude == half_infinity(f)) {
                assert_true(isinf(x) && (x < 0) == (h >> 15));
                continue;
            }
            if (!((double)x == half_value(f, h)))
                fail_msg("%s %04x: %g", f->name, h, (double)x);
            finite++;
        }
        assert_int_equal(finite, 2 * half_infinity(f));
    }
}

static uint16_t both_signs(const struct format *f, float x)
{
    uint16_t h = f->from_float(x);

    assert_int_equal(f->from_float(-x), h ^ 0x8000);
    return h;
}

/* A tie rounds to even; other values round to the nearer neighbor. */
static void test_half_rounding(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        const struct format *f = &formats[k];

        for (uint16_t h = 0; h < half_infinity(f); h++) {
            uint16_t up = (uint16_t)(h + 1), even = h & 1 ? up : h;
            double next = up == half_infinity(f)
                              ? 2 * half_value(f, h) - half_value(f, (uint16_t)(h - 1))
                              : half_value(f, up);
            float middle = (float)((half_value(f, h) + next) / 2);

            if (both_signs(f, middle) != even ||
                both_signs(f, nextafterf(middle, 0)) != h ||
                both_signs(f, nextafterf(middle, INFINITY)) != up)
                fail_msg("%s between %04x and %04x", f->name, h, up);
        }
    }
}

static void test_half_edges(void **state)
{
    (void)state;
    assert_int_equal(fp16_from_float(65504), 0x7bff);
    assert_int_equal(fp16_from_float(65519.996f), 0x7bff);
    assert_int_equal(fp16_from_float(65520), 0x7c00);
    assert_int_equal(fp16_from_float(1e30f), 0x7c00);
    assert_int_equal(fp16_from_float(INFINITY), 0x7c00);
    assert_int_equal(fp16_from_float(ldexpf(1, -24)), 1);
    assert_int_equal(fp16_from_float(ldexpf(1, -25)), 0);
    assert_int_equal(fp16_from_float(nextafterf(ldexpf(1, -25), 1)), 1);
    assert_int_equal(fp16_from_float(-ldexpf(1, -140)), 0x8000);
    assert_int_equal(bf16_from_float(3.40282347e38f), 0x7f80); /* FLT_MAX rounds up */
    assert_int_equal(bf16_from_float(1), 0x3f80);
    for (int i = 0; i < 23; i++) { /* NaNs whose payload is in the truncated bits */
        float nan = float_from_bits(0x7f800000u | 1u << i);

        assert_true((fp16_from_float(nan) & 0x7fff) > 0x7c00);
        assert_true((bf16_from_float(nan) & 0x7fff) > 0x7f80);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_philox_vectors), cmocka_unit_test(test_philox_arguments),
        cmocka_unit_test(test_philox_derived), cmocka_unit_test(test_half_patterns),
        cmocka_unit_test(test_half_rounding),  cmocka_unit_test(test_half_edges),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
