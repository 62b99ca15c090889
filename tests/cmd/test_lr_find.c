/* --lr-find on losses with a known answer. */
#include <math.h>

#include "cmd/lr_find.h"
#include "tests/test.h"

enum { N = 101 };

/* Learning rates from 1e-7 to 10; the loss falls from 2.3 along a logistic curve around
 * `middle` and rises from `end` on. */
static void make(struct lr_find_point *p, double middle, double end)
{
    for (int i = 0; i < N; i++) {
        double lr = 1e-7 * pow(1e8, i / (N - 1.0)), x = log10(lr / middle);

        p[i] = (struct lr_find_point){.lr = lr, .loss = 2.3 - 2 / (1 + exp(-4 * x))};
        if (lr > end)
            p[i].loss += lr / end;
    }
}

static void finds_the_slope(void **state)
{
    static const double middle[] = {1e-4, 1e-3, 1e-2};
    struct lr_find_point p[N];

    (void)state;
    for (int k = 0; k < 3; k++) {
        int n, i;

        make(p, middle[k], 1);
        n = lr_find_smooth(p, N);
        i = lr_find_steepest(p, n);
        assert_true(n < N); /* it diverges */
        assert_true(i > 0 && p[i].lr > middle[k] && p[i].lr < 8 * middle[k]);
    }
}

static void stops_at_what_is_no_number(void **state)
{
    struct lr_find_point p[N];

    (void)state;
    make(p, 1e-3, 1);
    p[60].loss = NAN;
    assert_int_equal(lr_find_smooth(p, N), 60);
    assert_true(lr_find_steepest(p, 60) < 60);
}

/* Batches of a small data set: losses of the first steps are far from their mean. */
static void noise_of_the_first_steps_is_no_slope(void **state)
{
    static const double noise[] = {1.2, 0.1, 0.5, -0.4, 0.3, -0.2, 0.2, 0.3};
    enum { COUNT = sizeof(noise) / sizeof(*noise) };
    struct lr_find_point p[N];
    int i;

    (void)state;
    make(p, 1e-3, 1);
    for (int k = 0; k < N; k++)
        p[k].loss += k < COUNT ? noise[k] : k % 2 ? 0.15 : -0.15;
    i = lr_find_steepest(p, lr_find_smooth(p, N));
    assert_true(i > 0 && p[i].lr > 1e-3 && p[i].lr < 8e-3);
}

static void a_loss_that_rises_has_no_answer(void **state)
{
    struct lr_find_point p[N];

    (void)state;
    for (int i = 0; i < N; i++)
        p[i] = (struct lr_find_point){.lr = 1e-7 * pow(1e8, i / (N - 1.0)),
                                      .loss = 1 + 0.001 * i};
    assert_int_equal(lr_find_smooth(p, N), N);
    assert_int_equal(lr_find_steepest(p, N), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_the_slope),
        cmocka_unit_test(stops_at_what_is_no_number),
        cmocka_unit_test(noise_of_the_first_steps_is_no_slope),
        cmocka_unit_test(a_loss_that_rises_has_no_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
