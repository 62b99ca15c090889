/*
 * Window attention: grids and regions against numbers worked out by hand, dropout by
 * counting; then results and all gradients on every backend against timm's Swin, SwinV2
 * and ViT (tests/golden/ops/attention.safetensors).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/case_build.h"
#include "cases/case_run.h"
#include "io/safetensors.h"
#include "ops/cpb_table.h"
#include "ops/reference.h"
#include "ops/window_attention.h"
#include "ops/window_mix.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { MOST = 1 << 14 }; /* elements of a tensor, at most */

static struct safetensors golden;
static int compared;

struct golden_case {
    const char *name;
    case_build_fn *build;
    struct case_size size;
    const void *attrs;
    const char *params; /* prefix of parameter names, which golden names do not have */
};

#define SIZE(b, h, w, features, heads)                                                   \
    {                                                                                    \
        .dim = {b, h, w, features}, .out = (heads)                                       \
    }
/* .attrs and .params */
#define ATTRS(type, layer, ...) &(const struct type){__VA_ARGS__}, layer
#define WINDOW(h, w, sh, sw)                                                             \
    ATTRS(window_attention_attrs, "", .window_h = (h), .window_w = (w), .shift_h = (sh), \
          .shift_w = (sw))
#define CPB(h, w, ph, pw)                                                                \
    ATTRS(cpb_table_attrs, "cpb_mlp.", .window_h = (h), .window_w = (w),                 \
          .pretrained_h = (ph), .pretrained_w = (pw))
#define MIX(h, w, s)                                                                     \
    ATTRS(window_mix_attrs, "mix.", .window_h = (h), .window_w = (w), .shift = (s))

static const struct golden_case cases[] = {
    {"plain", case_window_attention, SIZE(2, 4, 6, 24, 2), WINDOW(2, 3, 0, 0)},
    {"shift", case_window_attention, SIZE(1, 6, 9, 18, 1), WINDOW(3, 3, 1, 1)},
    {"odd", case_window_attention, SIZE(1, 5, 7, 24, 2), WINDOW(3, 4, 0, 0)},
    {"odd_shift", case_window_attention, SIZE(2, 6, 5, 18, 2), WINDOW(4, 2, 2, 1)},
    {"one_direction", case_window_attention, SIZE(1, 5, 7, 18, 2), WINDOW(3, 3, 0, 1)},
    {"swin", case_window_attention, SIZE(1, 9, 16, 24, 2), WINDOW(7, 7, 3, 3)},
    {"cosine", case_cosine_attention, SIZE(1, 6, 6, 24, 2), WINDOW(3, 3, 1, 1)},
    {"cosine_odd", case_cosine_attention, SIZE(1, 5, 6, 36, 3), WINDOW(2, 4, 1, 2)},
    {"vit", case_attention, SIZE(2, 1, 9, 36, 3), WINDOW(0, 0, 0, 0)},
    {"cpb", case_cpb_table, {.out = 2}, CPB(2, 3, 0, 0)},
    {"cpb_pretrained", case_cpb_table, {.out = 1}, CPB(3, 2, 5, 4)},
    {"mix", case_window_mix, SIZE(2, 4, 6, 4, 2), MIX(2, 3, 0)},
    {"mix_shift", case_window_mix, SIZE(1, 6, 9, 6, 3), MIX(3, 3, 1)},
    {"mix_large_shift", case_window_mix, SIZE(2, 4, 8, 2, 1), MIX(4, 4, 3)},
};

/* Reads the tensor CASE.what, or CASE.dwhat for gradients (d: "d"). Returns its number of
 * elements. */
static int64_t read_golden(const struct golden_case *c, const char *d, const char *what,
                           float dst[MOST])
{
    struct strbuf why = STRBUF_INIT;
    const struct safetensors_tensor *t;
    char name[64];

    (void)snprintf(name, sizeof(name), "%s.%s%s", c->name, d, what);
    t = safetensors_find(&golden, name);
    if (!t)
        fail_msg("no %s", name);
    assert_int_equal(t->dtype, SAFETENSORS_F32);
    assert_true(t->size <= MOST * sizeof(float));
    if (safetensors_read(&golden, t, dst, &why))
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return (int64_t)(t->size / sizeof(float));
}

static void copy_golden(const struct case_run *r, const struct golden_case *c,
                        const struct tensor *t, const char *d, const char *what)
{
    float v[MOST];

    assert_int_equal(read_golden(c, d, what, v), tensor_len(t));
    r->backend->copy_in(r->dev, program_data(r->program, t), v, tensor_size(t));
}

static void compare(const struct case_run *r, const struct golden_case *c,
                    const struct tensor *t, const char *d, const char *what)
{
    float want[MOST], got[MOST];
    int64_t n = read_golden(c, d, what, want);
    /* fp32 rounds scores of up to 100 (a cosine times its scale): hence the tolerance;
     * the reference computes in fp64 */
    float top = 0, allowed = r->backend == &backend_ref ? 4e-6f : 4e-5f;

    assert_int_equal(n, tensor_len(t));
    r->backend->copy_out(r->dev, got, program_data(r->program, t), tensor_size(t));
    for (int64_t i = 0; i < n; i++)
        top = fabsf(want[i]) > top ? fabsf(want[i]) : top;
    for (int64_t i = 0; i < n; i++, compared++)
        if (!(fabsf(got[i] - want[i]) <= allowed * (top + 0.1f)))
            fail_msg("%s: %s: %s%s[%lld]: %.9g, not %.9g", r->backend->name, c->name, d,
                     what, (long long)i, (double)got[i], (double)want[i]);
}

/* Sets all parameters, or compares all their gradients. */
static void params(const struct case_run *r, const struct golden_case *c, bool gradients)
{
    const struct graph *g = r->graph;
    size_t skip = strlen(c->params);

    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = g->tensor[i];

        if (t->kind != TENSOR_PARAM)
            continue;
        if (gradients)
            compare(r, c, t->grad, "d", t->name + skip);
        else
            copy_golden(r, c, t, "", t->name + skip);
    }
}

static void run_case(const struct golden_case *c, const struct backend *backend,
                     struct device *dev)
{
    const struct op_case row = {
        .name = c->name, .build = c->build, .small = c->size, .attrs = c->attrs};
    struct case_run r;

    case_run_init(&r, &row, backend, dev, &(const struct case_options){0});
    for (int i = 0; i < r.build.ninput; i++)
        copy_golden(&r, c, r.build.input[i].tensor, "", r.build.input[i].tensor->name);
    params(&r, c, false);
    copy_golden(&r, c, r.seed, "", "dy");
    program_run(r.program);
    if (backend->sync)
        backend->sync(dev);
    compare(&r, c, r.build.out[0], "", "y");
    for (int i = 0; i < r.build.ninput; i++)
        compare(&r, c, r.build.input[i].tensor->grad, "d", r.build.input[i].tensor->name);
    params(&r, c, true);
    case_run_release(&r);
}

static void test_timm(void **state)
{
    (void)state;
    for (int i = 0; device_at(i); i++) {
        const struct backend *backend = device_at(i);
        struct device *dev;

        if (!backend_wanted(backend))
            continue;
        dev = backend->open(&(const struct device_options){0});
        for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
            run_case(&cases[k], backend, dev);
        backend->close(dev);
        print_message("%s: %d numbers compared\n", backend->name, compared);
    }
    assert_true(compared > 10000);
}

/* Numbers worked out by hand. */
static void test_grid(void **state)
{
    static const int square[4][4] = {
        {4, 3, 1, 0}, {5, 4, 2, 1}, {7, 6, 4, 3}, {8, 7, 5, 4}};
    static const int wide[2][6] = {{7, 6, 5, 2, 1, 0}, {14, 13, 12, 9, 8, 7}};
    const struct window_grid two = {.height = 4,
                                    .width = 4,
                                    .window_h = 2,
                                    .window_w = 2,
                                    .roll_h = 1,
                                    .roll_w = 1,
                                    .rows = 2,
                                    .columns = 2};
    const struct window_grid three = {.window_h = 2, .window_w = 3};

    (void)state;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            assert_int_equal(window_grid_offset(&two, i, j), square[i][j]);
    for (int j = 0; j < 6; j++) {
        assert_int_equal(window_grid_offset(&three, 0, j), wide[0][j]);
        assert_int_equal(window_grid_offset(&three, 5, j), wide[1][j]);
    }
    for (int w = 0; w < 4; w++)
        for (int t = 0; t < 4; t++) {
            int want = (w / 2 * (t / 2)) * 2 + w % 2 * (t % 2);

            assert_int_equal(window_grid_region(&two, w, t), want);
            assert_int_equal(window_grid_divided(&two, w), w > 0);
        }
    assert_int_equal(window_grid_pixel(&two, 0, 0), 5);
    assert_int_equal(window_grid_pixel(&two, 3, 1), 12);
    assert_int_equal(window_grid_pixel(&two, 3, 3), 0);
}

static void test_coordinates(void **state)
{
    static const float want[] = {0,         0.366512f, 0.572069f, 0.715614f,
                                 0.826016f, 0.915745f, 0.991335f, 1.056642f};

    (void)state;
    for (int t = 0; t < 8; t++) {
        assert_true(fabsf(cpb_coordinate(t, 8) - want[t]) < 1e-6f);
        assert_true(fabsf(cpb_coordinate(-t, 8) + want[t]) < 1e-6f);
    }
    assert_true(cpb_coordinate(0, 1) == 0);
}

/* q = k = 0 and v_j = the j-th unit vector: y_ij is what dropout makes of 1 / 8. */
static void test_dropout(void **state)
{
    enum { N = 8, IMAGES = 200, FEATURES = 3 * N };
    const struct window_attention_attrs attrs = {.dropout = 0.25f};
    const struct op_case row = {.name = "dropout",
                                .build = case_attention,
                                .small = SIZE(IMAGES, 1, N, FEATURES, 1),
                                .attrs = &attrs};
    struct device *dev = backend_ref.open(&(const struct device_options){0});
    struct case_run r;
    float *qkv;
    const float *y;
    int kept = 0, same = 0;

    (void)state;
    case_run_init(&r, &row, &backend_ref, dev, &(const struct case_options){0});
    qkv = program_data(r.program, r.build.input[0].tensor);
    for (int i = 0; i < IMAGES * N * FEATURES; i++)
        qkv[i] = i % FEATURES == 2 * N + i / FEATURES % N ? 1 : 0;
    program_run(r.program);
    y = program_data(r.program, r.build.out[0]);
    for (int i = 0; i < IMAGES * N * N; i++) {
        assert_true(y[i] == 0 || fabsf(y[i] - 1 / (N * 0.75f)) < 1e-6f);
        kept += y[i] != 0;
        for (int k = 1; k < N; k++)
            same += (y[i] != 0) == (y[i / N * N + (i + k) % N] != 0);
    }
    assert_in_range(kept, 0.74 * IMAGES * N * N, 0.76 * IMAGES * N * N);
    /* two draws agree with probability 0.75^2 + 0.25^2 */
    assert_in_range(same, 0.60 * IMAGES * N * N * (N - 1),
                    0.65 * IMAGES * N * N * (N - 1));
    case_run_release(&r);
    backend_ref.close(dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_grid), cmocka_unit_test(test_coordinates),
        cmocka_unit_test(test_dropout), cmocka_unit_test(test_timm)};
    struct strbuf why = STRBUF_INIT;
    int failed;

    if (safetensors_open(&golden, "tests/golden/ops/attention.safetensors", &why)) {
        print_error("%s\n", why.buf);
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    safetensors_close(&golden);
    return failed;
}
