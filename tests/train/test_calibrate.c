/* Calibrators on distributions with a known range. */
#include <math.h>
#include <stdlib.h>

#include "base/philox.h"
#include "tests/test.h"
#include "train/calibrate.h"

enum { N = 200000 };

static float x[N];

static double normal(uint64_t i)
{
    struct philox r = philox(3, PHILOX_TEST, 0, i);
    double u = ((double)r.v[0] + 1) / 4294967297.0, v = (double)r.v[1] / 4294967296.0;

    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static double range(const char *name, int levels, double percentile)
{
    static struct calibration c;
    const struct calibrator *how = calibrator_find(name);

    c = (struct calibration){0};
    assert_non_null(how);
    calibration_add_largest(&c, x, N / 2);
    calibration_add_largest(&c, x + N / 2, N - N / 2);
    calibration_count(&c, x, N / 3);
    calibration_count(&c, x + N / 3, N - N / 3);
    assert_int_equal(c.n, N);
    assert_int_equal(c.bad, 0);
    return how->range(&c, levels, percentile);
}

static void between(const char *what, double got, double low, double high)
{
    if (!(got >= low && got <= high))
        fail_msg("%s is %g, not in [%g, %g]", what, got, low, high);
}

/* N(0, 1): |x| < 2.5758 for 99 %; a far outlier moves only minmax. */
static void test_normal(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)normal((uint64_t)i);
    between("percentile", range("percentile", 127, 99), 2.55, 2.60);
    between("entropy", range("entropy", 127, 0), 2.5, 5);
    x[7] = -40;
    between("minmax", range("minmax", 127, 0), 40, 40);
    between("percentile", range("percentile", 127, 99), 2.55, 2.62);
    between("entropy", range("entropy", 127, 0), 2.5, 8);
    between("whole percentile", range("percentile", 127, 100), 39.9, 40);
}

/* Clipping a uniform distribution gains nothing. */
static void test_uniform(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = (float)i / N;
    between("entropy", range("entropy", 255, 0), 0.97, 1);
    between("percentile", range("percentile", 255, 99.9), 0.998, 1);
}

static void test_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++)
        x[i] = 0;
    between("minmax", range("minmax", 127, 0), 0, 0);
    between("percentile", range("percentile", 127, 99), 0, 0);
    between("entropy", range("entropy", 127, 0), 0, 0);
    assert_null(calibrator_find("average"));
}

static void test_bad(void **state)
{
    struct calibration *c = calloc(1, sizeof(*c));
    const float v[] = {1, NAN, -3, INFINITY, 2};

    (void)state;
    calibration_add_largest(c, v, 5);
    assert_int_equal(c->bad, 2);
    between("most", c->max_abs, 3, 3);
    free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_normal),
        cmocka_unit_test(test_uniform),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_bad),
    };

    cmocka_set_test_filter(getenv("TEST_FILTER"));
    return cmocka_run_group_tests(tests, NULL, NULL);
}
