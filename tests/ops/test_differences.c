/*
 * The reference gradient of every row of the op table against central differences.
 *
 *   TEST_ROWS="relu*"   some rows only (tests/ops/backends.h)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case_run.h"
#include "ops/reference.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

static const double DIFFERENCE_STEP = 2e-3, DIFFERENCE_TOLERANCE = 5e-3;

struct differences {
    struct case_run run;
    struct device *dev;
    int checked, wrong;
};

/* sum of out[0] * dy, whose gradient is what the backward nodes compute */
static double loss(struct differences *d)
{
    const struct tensor *y = d->run.build.out[0];
    const float *v, *dy = program_data(d->run.program, d->run.seed);
    double sum = 0;

    program_run(d->run.program);
    v = program_data(d->run.program, y);
    for (int64_t i = 0; i < tensor_len(y); i++)
        sum += (double)v[i] * dy[i];
    return sum;
}

static void check_element(struct differences *d, const struct tensor *t, int64_t i,
                          float *x, double got)
{
    double pos = *x, high, low, want;

    *x = (float)(pos + DIFFERENCE_STEP);
    high = loss(d);
    *x = (float)(pos - DIFFERENCE_STEP);
    low = loss(d);
    *x = (float)pos;
    want = (high - low) / (2 * DIFFERENCE_STEP);
    d->checked++;
    if (!(fabs(want - got) <= DIFFERENCE_TOLERANCE * (1 + fabs(want)))) {
        if (d->wrong++ < 4)
            print_error("%s: d %s[%lld]: differences %g, gradient %g\n", d->run.row->name,
                        t->name, (long long)i, want, got);
    }
}

static void check_tensor(struct differences *d, const struct tensor *t)
{
    const struct program *p = d->run.program;
    int64_t n = tensor_len(t);
    float *x = program_data(p, t), *grad = calloc((size_t)n, sizeof(float));

    (void)loss(d);
    if (t->grad)
        memcpy(grad, program_data(p, t->grad), (size_t)n * sizeof(float));
    for (int64_t i = 0; i < n; i += 1 + n / 400)
        check_element(d, t, i, &x[i], grad[i]);
    free(grad);
}

static void check_row(struct differences *d)
{
    const struct graph *g = d->run.graph;

    for (int i = 0; i < g->ntensor; i++)
        if (g->tensor[i]->trainable)
            check_tensor(d, g->tensor[i]);
}

static void test_differences(void **state)
{
    int rows = 0, checked = 0, wrong = 0;
    struct device *dev = backend_ref.open(&(const struct device_options){0});
    const struct op_case *row;

    (void)state;
    for (int i = 0; (row = op_case_at(i)); i++) {
        struct differences d = {.dev = dev};

        if (!row_wanted(row) || row->no_gradient || row->no_differences)
            continue;
        case_run_init(&d.run, row, &backend_ref, dev, &(const struct case_options){0});
        check_row(&d);
        case_run_release(&d.run);
        if (d.checked < 4)
            fail_msg("%s: only %d elements", row->name, d.checked);
        rows++;
        checked += d.checked;
        wrong += d.wrong;
    }
    backend_ref.close(dev);
    print_message("differences: %d rows, %d elements\n", rows, checked);
    assert_int_equal(wrong, 0);
    assert_enough(rows >= 45 && checked >= 4000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_differences),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
