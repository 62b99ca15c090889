/*
 * General ops against PyTorch, results and all gradients on every backend
 * (tests/golden/ops/general.safetensors, scripts/golden/ops.py).
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/case_run.h"
#include "cases/rows.h"
#include "io/safetensors.h"
#include "ops/reference.h"
#include "session/devices.h"
#include "tests/ops/backends.h"
#include "tests/test.h"

enum { LARGEST = 1 << 14 }; /* elements of a tensor, at most */

static struct safetensors golden;
static int compared;

static const struct op_case cases[] = {
    {.name = "concat",
     .build = case_concat,
     .small = {{2, 3, 3, 4}, .out = 5, .groups = 3}},
    {.name = "concat_rows",
     .build = case_concat,
     .small = {{2, 3, 3, 4}, .out = 2},
     ATTRS(concat_attrs, .axis = 2)},
    {.name = "concat_columns",
     .build = case_concat,
     .small = {{2, 3, 3, 4}, .out = 2},
     ATTRS(concat_attrs, .axis = 3)},
    {.name = "bilinear_up", .small = {{2, 3, 4, 5}}, RESAMPLE(.out_h = 7, .out_w = 10)},
    {.name = "bilinear_down", .small = {{2, 3, 9, 7}}, RESAMPLE(.out_h = 4, .out_w = 5)},
    {.name = "bilinear_aligned",
     .small = {{1, 3, 4, 5}},
     RESAMPLE(.out_h = 7, .out_w = 3, .align_corners = 1)},
    {.name = "bilinear_smooth",
     .small = {{1, 3, 9, 11}},
     RESAMPLE(.out_h = 4, .out_w = 3, .antialias = 1)},
    {.name = "bilinear_smooth_up",
     .small = {{1, 3, 4, 9}},
     RESAMPLE(.out_h = 7, .out_w = 2, .antialias = 1)},
    {.name = "bilinear_factor",
     .small = {{1, 3, 5, 7}},
     RESAMPLE(.out_h = 6, .out_w = 11, .scale_h = 1.25f, .scale_w = 1.625f)},
    {.name = "bicubic_up",
     .small = {{2, 3, 4, 5}},
     RESAMPLE(.mode = RESAMPLE_BICUBIC, .out_h = 7, .out_w = 10)},
    {.name = "bicubic_down",
     .small = {{1, 3, 9, 7}},
     RESAMPLE(.mode = RESAMPLE_BICUBIC, .out_h = 4, .out_w = 5)},
    {.name = "bicubic_aligned",
     .small = {{1, 3, 4, 5}},
     RESAMPLE(.mode = RESAMPLE_BICUBIC, .out_h = 7, .out_w = 3, .align_corners = 1)},
    {.name = "bicubic_smooth",
     .small = {{1, 3, 9, 11}},
     RESAMPLE(.mode = RESAMPLE_BICUBIC, .out_h = 4, .out_w = 3, .antialias = 1)},
    {.name = "bicubic_one",
     .small = {{1, 3, 1, 1}},
     RESAMPLE(.mode = RESAMPLE_BICUBIC, .out_h = 3, .out_w = 2)},
    {.name = "nearest_up",
     .small = {{1, 3, 4, 5}},
     RESAMPLE(.mode = RESAMPLE_NEAREST, .out_h = 7, .out_w = 11)},
    {.name = "nearest_down",
     .small = {{1, 3, 7, 10}},
     RESAMPLE(.mode = RESAMPLE_NEAREST, .out_h = 3, .out_w = 4)},
    {.name = "nearest_factor",
     .small = {{1, 3, 5, 6}},
     RESAMPLE(.mode = RESAMPLE_NEAREST, .out_h = 7, .out_w = 4, .scale_h = 1.5f,
              .scale_w = 0.75f)},
    {.name = "nearest_exact",
     .small = {{1, 3, 4, 10}},
     RESAMPLE(.mode = RESAMPLE_NEAREST_EXACT, .out_h = 7, .out_w = 4)},
    {.name = "conv_same",
     .small = {{2, 3, 6, 7}, .out = 4},
     CONV(.kernel = 3, .stride = 2, .same = 1)},
    {.name = "conv_same_even",
     .small = {{2, 3, 5, 4}, .out = 4},
     CONV(.kernel_h = 2, .kernel_w = 4, .same = 1, .bias = 1)},
    {.name = "conv_same_dilated",
     .small = {{1, 3, 9, 8}, .out = 4},
     CONV(.kernel = 3, .stride = 2, .dilation = 2, .same = 1)},
    {.name = "depthwise_same",
     .small = {{2, 5, 6, 7}, .out = 5, .groups = 5},
     CONV(.kernel = 5, .stride = 2, .same = 1, .bias = 1)},
    {.name = "depthwise_s2",
     .small = {{2, 5, 6, 7}, .out = 5, .groups = 5},
     CONV(.kernel = 3, .stride = 2, .padding = 1)},
    {.name = "depthwise_dilated",
     .small = {{2, 5, 8, 7}, .out = 5, .groups = 5},
     CONV(.kernel = 3, .padding = 2, .dilation = 2)},
    {.name = "group_norm", .build = case_groupnorm, .small = {{2, 6, 4, 3}, .groups = 3}},
    {.name = "max_ceil",
     .small = {{2, 3, 6, 7}},
     MAXPOOL(.kernel = 3, .stride = 2, .ceil_mode = 1)},
    {.name = "max_rectangular",
     .small = {{2, 3, 7, 6}},
     MAXPOOL(.kernel_h = 3, .kernel_w = 2, .stride_h = 1, .stride_w = 2, .pad_h = 1)},
    {.name = "max_adaptive", .small = {{2, 3, 7, 5}}, MAXPOOL(.out_h = 3, .out_w = 4)},
    {.name = "max_alike", .small = {{2, 3, 6, 8}}, MAXPOOL(.out_h = 3, .out_w = 2)},
    {.name = "avg_ceil",
     .small = {{2, 3, 6, 7}},
     AVGPOOL(.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = 1)},
    {.name = "avg_padding",
     .small = {{2, 3, 6, 7}},
     AVGPOOL(.kernel = 3, .stride = 2, .padding = 1, .ceil_mode = 1,
             .count_include_pad = 1)},
    {.name = "avg_padding_floor",
     .small = {{2, 3, 6, 7}},
     AVGPOOL(.kernel = 3, .stride = 2, .padding = 1, .count_include_pad = 1)},
    {.name = "avg_rectangular",
     .small = {{2, 3, 7, 6}},
     AVGPOOL(.kernel_h = 3, .kernel_w = 2, .stride_h = 1, .stride_w = 2, .pad_h = 1)},
    {.name = "avg_adaptive", .small = {{2, 3, 7, 5}}, AVGPOOL(.out_h = 3, .out_w = 4)},
    {.name = "avg_more", .small = {{2, 3, 2, 3}}, AVGPOOL(.out_h = 5, .out_w = 7)},
    {.name = "avg_alike", .small = {{2, 3, 6, 8}}, AVGPOOL(.out_h = 3, .out_w = 2)},
};

/* Reads the tensor CASE.what, or CASE.dwhat for gradients (d: "d"). Returns its number of
 * elements. */
static int64_t read_golden(const struct op_case *c, const char *d, const char *what,
                           float dst[LARGEST])
{
    struct strbuf why = STRBUF_INIT;
    const struct safetensors_tensor *t;
    char name[64];

    (void)snprintf(name, sizeof(name), "%s.%s%s", c->name, d, what);
    t = safetensors_find(&golden, name);
    if (!t)
        fail_msg("no %s", name);
    assert_int_equal(t->dtype, SAFETENSORS_F32);
    assert_true(t->size <= LARGEST * sizeof(float));
    if (safetensors_read(&golden, t, dst, &why))
        fail_msg("%s", why.buf);
    strbuf_release(&why);
    return (int64_t)(t->size / sizeof(float));
}

static void copy_golden(const struct case_run *r, const struct op_case *c,
                        const struct tensor *t, const char *d, const char *what)
{
    float v[LARGEST];

    assert_int_equal(read_golden(c, d, what, v), tensor_len(t));
    r->backend->copy_in(r->dev, program_data(r->program, t), v, tensor_size(t));
}

static void compare(const struct case_run *r, const struct op_case *c,
                    const struct tensor *t, const char *d, const char *what)
{
    float want[LARGEST], got[LARGEST];
    int64_t n = read_golden(c, d, what, want);
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

/* Sets all parameters, or compares all their gradients. Golden names have no layer. */
static void params(const struct case_run *r, const struct op_case *c, bool gradients)
{
    const struct graph *g = r->graph;

    for (int i = 0; i < g->ntensor; i++) {
        const struct tensor *t = g->tensor[i];

        if (t->kind != TENSOR_PARAM)
            continue;
        if (gradients)
            compare(r, c, t->grad, "d", strrchr(t->name, '.') + 1);
        else
            copy_golden(r, c, t, "", strrchr(t->name, '.') + 1);
    }
}

static void run_case(const struct op_case *c, const struct backend *backend,
                     struct device *dev)
{
    struct case_run r;

    case_run_init(&r, c, backend, dev, &(const struct case_options){0});
    for (int i = 0; i < r.build.ninput; i++)
        copy_golden(&r, c, r.build.input[i].tensor, "", r.build.input[i].tensor->name);
    params(&r, c, false);
    program_refresh(r.program);
    copy_golden(&r, c, r.seed, "d", "out");
    program_run(r.program);
    if (backend->sync)
        backend->sync(dev);
    compare(&r, c, r.build.out[0], "", "out");
    for (int i = 0; i < r.build.ninput; i++)
        compare(&r, c, r.build.input[i].tensor->grad, "d", r.build.input[i].tensor->name);
    params(&r, c, true);
    case_run_release(&r);
}

static void test_pytorch(void **state)
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
    assert_true(compared > 3000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pytorch)};
    struct strbuf why = STRBUF_INIT;
    int failed;

    if (safetensors_open(&golden, "tests/golden/ops/general.safetensors", &why)) {
        print_error("%s\n", why.buf);
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    safetensors_close(&golden);
    return failed;
}
