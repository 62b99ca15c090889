/*
 * Activations: formulas in double and in fp32 against PyTorch's values and slopes
 * (tests/golden/ops/activations.json), the CPU's vector loops against the formulas over
 * many orders of magnitude, and what the table says of each.
 */
#include <jansson.h>
#include <math.h>

#include "cpu/device.h"
#include "io/json.h"
#include "ops/activation.h"
#include "ops/expr.h"
#include "tests/test.h"

enum { MANY = 4096 };

static double item(const json_t *list, size_t i)
{
    return json_number_value(json_array_get(list, i));
}

/* Fails for NaN. */
static bool close_to(double got, double want, double relative, double absolute)
{
    return fabs(got - want) <= relative * fabs(want) + absolute;
}

/* PyTorch has the slope of hardsigmoid, 1/6, in fp32 only. */
static void check_point(const struct activation *a, double m, double x, double y,
                        double slope)
{
    double value = expr_value_double(a->value, x, 0, 0, m);
    double grad = expr_value_double(a->grad, a->from_y ? value : x, 1, 0, m);
    float single = expr_value(a->value, (float)x, 0, 0, (float)m);
    float single_grad =
        expr_value(a->grad, a->from_y ? single : (float)x, 1, 0, (float)m);

    if (!close_to(value, y, 1e-12, 1e-15) || !close_to(grad, slope, 1e-7, 1e-15) ||
        !close_to(single, y, 1e-5, 1e-7) || !close_to(single_grad, slope, 1e-5, 2e-6))
        fail_msg("%s(%g): %.17g and %.17g, not %.17g and %.17g; in fp32 %g and %g",
                 a->name, x, value, grad, y, slope, (double)single, (double)single_grad);
}

static void test_golden(void **state)
{
    struct strbuf why = {0};
    json_t *root = json_parse_file("tests/golden/ops/activations.json", &why);
    const json_t *rows = json_object_get(root, "rows"), *x = json_object_get(root, "x");
    unsigned seen = 0;

    (void)state;
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const char *name = json_string_value(json_object_get(row, "name"));
        const struct activation *a = activation_find(name);

        assert_non_null(a);
        for (size_t k = 0; k < json_array_size(x); k++)
            check_point(a, json_number_value(json_object_get(row, "number")), item(x, k),
                        item(json_object_get(row, "y"), k),
                        item(json_object_get(row, "slope"), k));
        seen |= 1u << (a - activations);
    }
    for (int i = 0; activations[i].name; i++)
        if (!(seen >> i & 1))
            fail_msg("%s has no golden values", activations[i].name);
    json_decref(root);
    strbuf_release(&why);
}

/* From -1e4 to 1e4, denser near 0. */
static float sample(int i)
{
    double t = (i - MANY / 2) / (double)(MANY / 2);

    return (float)(copysign(pow(fabs(t), 5), t) * 1e4);
}

static void check_loop(const struct loops *loops, const struct activation *a, bool grad)
{
    static float x[MANY], dy[MANY], got[MANY];
    int opcode = (int)(grad ? a->grad : a->value);

    for (int i = 0; i < MANY; i++) {
        x[i] = sample(i);
        if (grad && a->from_y)
            x[i] = expr_value(a->value, x[i], 0, 0, a->m);
        dy[i] = 0.75f;
    }
    loops->expr(DTYPE_F32, opcode, x, dy, dy, a->m, got, MANY);
    for (int i = 0; i < MANY; i++) {
        double want = expr_value_double(opcode, x[i], dy[i], 0, a->m);

        if (!close_to(got[i], want, 4e-6, 3e-7))
            fail_msg("%s: %s(%g) is %.9g, not %.9g", loops->isa, expr_opcode_name(opcode),
                     (double)x[i], (double)got[i], want);
    }
}

static void test_loops(void **state)
{
    const struct loops *sets[] = {&loops_base, &loops_avx2, &loops_avx512, loops_best()};

    (void)state;
    for (size_t s = 0; s < sizeof(sets) / sizeof(sets[0]); s++) {
        if (sets[s]->lanes > loops_best()->lanes)
            continue; /* not on this processor */
        for (const struct activation *a = activations; a->name; a++) {
            check_loop(sets[s], a, false);
            check_loop(sets[s], a, true);
        }
    }
}

static void test_signs(void **state)
{
    (void)state;
    for (const struct activation *a = activations; a->name; a++) {
        bool negative = false;

        for (int i = 0; i < MANY; i++)
            negative |= expr_value_double(a->value, sample(i), 0, 0, a->m) < 0;
        if (negative == a->not_negative)
            fail_msg("%s: its sign is not what the table says", a->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_loops),
        cmocka_unit_test(test_signs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
