/* Tables resampled to other window and image sizes, compared with PyTorch and timm. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "io/json.h"
#include "models/beit.h"
#include "tests/test.h"
#include "train/remake.h"
#include "train/weight_grid.h"

enum { CHANNELS = 3 };

static int64_t field(const json_t *j, const char *name)
{
    assert_true(json_is_integer(json_object_get(j, name)));
    return json_integer_value(json_object_get(j, name));
}

static void check_near(double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol))
        fail_msg("%.9g, want %.9g", got, want);
}

static void check_case(const json_t *j)
{
    bool suffix = json_is_true(json_object_get(j, "suffix"));
    struct weight_grid src = {field(j, "prefix"), field(j, "side"), suffix};
    struct weight_grid target = {src.tokens, field(j, "to"), suffix};
    int64_t rows = src.tokens + src.side * src.side, every = field(j, "every");
    int64_t n = (target.tokens + target.side * target.side) * CHANNELS;
    const json_t *want = json_object_get(j, "y");
    float *x = xcalloc((size_t)(rows * CHANNELS), sizeof(*x));
    float *y = xcalloc((size_t)n, sizeof(*y));
    double sum = 0;

    for (int64_t i = 0; i < rows * CHANNELS; i++)
        x[i] = (float)((double)(7919 * i % 101) / 50 - 1);
    weight_grid_resize(x, src, y, target, CHANNELS,
                       json_is_true(json_object_get(j, "geometric"))   ? GRID_GEOMETRIC
                       : json_is_true(json_object_get(j, "antialias")) ? GRID_ANTIALIAS
                                                                       : GRID_BICUBIC);
    for (int64_t i = 0; i < n; i++)
        sum += fabs(y[i]);
    check_near(sum, json_number_value(json_object_get(j, "sum")), 1e-6 * (double)n);
    assert_int_equal(json_array_size(want), (n + every - 1) / every);
    for (int64_t i = 0; i < n; i += every)
        check_near(y[i], json_number_value(json_array_get(want, (size_t)(i / every))),
                   3e-6);
    free(x);
    free(y);
}

static void test_resize(void **state)
{
    json_t *j = json_load_file("tests/golden/train/weight_grid.json", 0, NULL);

    (void)state;
    assert_int_equal(json_array_size(j), 21);
    for (size_t i = 0; i < json_array_size(j); i++)
        check_case(json_array_get(j, i));
    json_decref(j);
}

static void test_grid_of(void **state)
{
    static const struct {
        int64_t rows, tokens, side;
    } rows[] = {{197, 1, 14}, {732, 3, 27}, {198, 2, 14}, {169, 0, 13},
                {2, 1, 1},    {6, 2, 2},    {1, 0, 1}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(weight_grid_of(rows[i].rows).tokens, rows[i].tokens);
        assert_int_equal(weight_grid_of(rows[i].rows).side, rows[i].side);
    }
}

/* BEiT's tables end with three rows of the class token, which are copied. */
static void test_beit(void **state)
{
    enum { TOKENS = 3, FROM = 5, TO = 9 };
    const struct weight_grid start = {TOKENS, FROM, true}, target = {TOKENS, TO, true};
    struct tensor t = {.name = "blocks.0.attn.relative_position_bias_table",
                       .ndim = 2,
                       .dim = {TO * TO + TOKENS, CHANNELS}};
    struct safetensors_tensor file = {.ndim = 2,
                                      .dims = {FROM * FROM + TOKENS, CHANNELS}};
    float x[(FROM * FROM + TOKENS) * CHANNELS], y[(TO * TO + TOKENS) * CHANNELS];
    float want[(TO * TO + TOKENS) * CHANNELS];
    const struct remake *r = remake_find(&beit_family, false, &t, &file);

    (void)state;
    for (int i = 0; i < (FROM * FROM + TOKENS) * CHANNELS; i++)
        x[i] = (float)(7919 * i % 101);
    assert_non_null(r);
    r->make(&beit_family, &t, x, file.dims, false, y);
    weight_grid_resize(x, start, want, target, CHANNELS, GRID_GEOMETRIC);
    assert_memory_equal(y, want, sizeof(y));
    assert_memory_equal(y + TO * TO * CHANNELS, x + FROM * FROM * CHANNELS,
                        TOKENS * CHANNELS * sizeof(*y));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_resize),
                                       cmocka_unit_test(test_grid_of),
                                       cmocka_unit_test(test_beit)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
