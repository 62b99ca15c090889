/*
 * Learning rate schedules compared with timm's and PyTorch's values (tests/golden/train),
 * the values of Swin-T and of ERFNet, and the boundary conditions.
 */
#include <math.h>

#include "io/json.h"
#include "ops/schedule_formula.h"
#include "tests/test.h"

static double number(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static int64_t integer(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

static int kind(const json_t *o)
{
    static const char *const name[] = {"cosine", "linear",   "step",    "multistep",
                                       "poly",   "onecycle", "constant"};
    const char *want = json_string_value(json_object_get(o, "kind"));

    for (int i = 0; i < 7; i++)
        if (!strcmp(want, name[i]))
            return i;
    fail_msg("unknown schedule '%s'", want);
    return -1;
}

static struct schedule read_schedule(const json_t *o)
{
    struct schedule s = {
        .kind = kind(o),
        .warmup_prefix = json_is_true(json_object_get(o, "prefix")),
        .total = integer(o, "total"),
        .warmup = integer(o, "warmup"),
        .base = number(o, "base"),
        .warmup_start = number(o, "warmup_start"),
        .min = number(o, "min"),
        .every = integer(o, "every"),
        .rate = number(o, "rate"),
        .power = number(o, "power"),
        .pct_start = number(o, "pct_start"),
        .div = number(o, "div"),
        .final_div = number(o, "final_div"),
    };
    const json_t *m = json_object_get(o, "milestones");

    for (size_t i = 0; i < json_array_size(m); i++)
        s.milestone[s.nmilestone++] = json_integer_value(json_array_get(m, i));
    return s;
}

static void test_golden(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse_file("tests/golden/train/schedule.json", &why);
    int compared = 0;

    (void)state;
    assert_non_null(root);
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *o = json_array_get(root, i), *rates = json_object_get(o, "rates");
        struct schedule s = read_schedule(o);

        for (size_t k = 0; k < json_array_size(rates); k++) {
            const json_t *pair = json_array_get(rates, k);
            int64_t t = json_integer_value(json_array_get(pair, 0));
            double want = json_number_value(json_array_get(pair, 1));
            double got = schedule_lr(&s, t);

            if (!(fabs(got - want) <= 1e-12 * (1 + want)))
                fail_msg("schedule %zu, update %d: %.17g, not %.17g", i, (int)t, got,
                         want);
            compared++;
        }
    }
    assert_true(compared > 200);
    json_decref(root);
    strbuf_release(&why);
}

/* TRAIN.SWA: the rates of torch.optim.swa_utils.SWALR after 30 constant updates. */
static void test_swa(void **state)
{
    struct strbuf why = STRBUF_INIT;
    json_t *root = json_parse_file("tests/golden/train/swa.json", &why);
    int compared = 0;

    (void)state;
    assert_non_null(root);
    for (size_t i = 0; i < json_array_size(root); i++) {
        const json_t *o = json_array_get(root, i), *rates = json_object_get(o, "rates");
        struct schedule s = {
            .kind = SCHEDULE_CONSTANT,
            .total = 100,
            .base = number(o, "base"),
            .swa = true,
            .swa_linear = json_is_true(json_object_get(o, "linear")),
            .swa_start = 30,
            .swa_anneal = integer(o, "anneal"),
            .swa_rate = number(o, "swa"),
        };

        for (size_t k = 0; k < json_array_size(rates); k++, compared++)
            assert_float_equal(schedule_lr(&s, 30 + (int64_t)k),
                               json_number_value(json_array_get(rates, k)), 1e-9);
        assert_float_equal(schedule_lr(&s, 29), s.base, 1e-12);
    }
    assert_int_equal(compared, 33);
    json_decref(root);
    strbuf_release(&why);
}

struct vector {
    int64_t t;
    double lr;
};

static void check_vector(const struct schedule *s, const struct vector *v, int n,
                         double tolerance)
{
    for (int i = 0; i < n; i++) {
        double got = schedule_lr(s, v[i].t);

        if (!(fabs(got - v[i].lr) <= tolerance * v[i].lr))
            fail_msg("update %d: %.9g, not %.9g", (int)v[i].t, got, v[i].lr);
    }
}

/* 300 epochs of 1251 steps; the first 20 epochs are warmup. */
static void test_swin_tiny(void **state)
{
    const struct schedule s = {
        .kind = SCHEDULE_COSINE,
        .warmup_prefix = true,
        .total = 300 * 1251,
        .warmup = 20 * 1251,
        .base = 1e-3,
        .warmup_start = 1e-6,
        .min = 1e-5,
    };
    static const struct vector v[] = {
        {0, 1e-6},     {1251, 5.095e-5},  {12510, 5.005e-4},
        {25020, 1e-3}, {200160, 5.05e-4}, {375300, 1e-5},
    };

    (void)state;
    check_vector(&s, v, 6, 1e-12);
}

/* 5e-4 (1 - (e - 1) / 150)^0.9 in epoch e from 1, with one step per epoch. */
static void test_erfnet(void **state)
{
    const struct schedule s = {
        .kind = SCHEDULE_POLY,
        .total = 150,
        .base = 5e-4,
        .power = 0.9,
    };
    static const struct vector v[] = {
        {0, 5e-4},          {1, 4.96999e-4},    {74, 2.711566e-4},
        {148, 1.026632e-5}, {149, 5.501586e-6},
    };

    (void)state;
    check_vector(&s, v, 5, 1e-6);
}

/* Swin's linear schedule: from B after warmup to 1 % of B. */
static void test_linear(void **state)
{
    const struct schedule s = {
        .kind = SCHEDULE_LINEAR,
        .total = 110,
        .warmup = 10,
        .base = 1,
        .warmup_start = 0.5,
    };
    static const struct vector v[] = {
        {0, 0.5},      {5, 0.75},   {10, 1},     {60, 0.505},
        {109, 0.0199}, {110, 0.01}, {500, 0.01},
    };

    (void)state;
    check_vector(&s, v, 7, 1e-12);
}

/* No schedule leaves its range or returns NaN, for any lengths. */
static void test_range(void **state)
{
    static const int64_t length[] = {1, 2, 3, 10, 97};
    int checked = 0;

    (void)state;
    for (int k = 0; k < 7; k++)
        for (int l = 0; l < 5; l++)
            for (int64_t warmup = 0; warmup <= length[l]; warmup++)
                for (int64_t t = 0; t < length[l] + 5; t++) {
                    struct schedule s = {
                        .kind = k,
                        .warmup_prefix = t % 2,
                        .total = length[l],
                        .warmup = warmup,
                        .base = 1,
                        .warmup_start = 0.01,
                        .every = 3,
                        .rate = 0.5,
                        .milestone = {1, 4},
                        .nmilestone = 2,
                        .power = 0.9,
                        .pct_start = 0.3,
                        .div = 25,
                        .final_div = 1e4,
                    };
                    double lr = schedule_lr(&s, t);

                    if (!(lr >= 0 && lr <= 1))
                        fail_msg("kind %d, length %d, warm-up %d, update %d: %g", k,
                                 (int)length[l], (int)warmup, (int)t, lr);
                    checked++;
                }
    assert_true(checked > 10000);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_golden),    cmocka_unit_test(test_swa),
        cmocka_unit_test(test_swin_tiny), cmocka_unit_test(test_erfnet),
        cmocka_unit_test(test_linear),    cmocka_unit_test(test_range),
    };

    return cmocka_run_group_tests(test, NULL, NULL);
}
