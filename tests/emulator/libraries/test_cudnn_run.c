/*
 * Results of the emulated cuDNN: convolutions against their definition on integers, so
 * that every sum is exact; fused graphs, pooling, and normalization against plain loops.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "tests/emulator/libraries/run_graph.h"
#include "tests/test.h"

#define F32 CUDNN_DATA_FLOAT
#define F16 CUDNN_DATA_HALF

enum { EXACT = 28, TF32 = 71, SPLIT = 20, ALONE = 8 }; /* engines of the emulation */

static struct api *const a = &run_api;

/* ---- convolutions ---- */

struct shape {
    const char *name;
    int64_t n, c, h, w, k, r, s, groups;
    struct api_conv conv;
};

static const struct shape shapes[] = {
    {"1x1", 2, 3, 4, 5, 2, 1, 1, 1, {{0, 0}, {0, 0}, {1, 1}, {1, 1}}},
    {"3x3 same", 2, 4, 6, 5, 8, 3, 3, 1, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
    {"stride", 1, 3, 9, 8, 4, 3, 2, 1, {{1, 0}, {1, 1}, {2, 3}, {1, 1}}},
    {"dilation", 1, 2, 9, 11, 3, 3, 3, 1, {{2, 3}, {2, 3}, {1, 1}, {2, 3}}},
    {"one-sided pads", 2, 3, 5, 6, 4, 3, 3, 1, {{1, 0}, {0, 2}, {1, 2}, {1, 1}}},
    {"groups", 2, 6, 5, 5, 9, 3, 3, 3, {{1, 1}, {1, 1}, {2, 1}, {1, 2}}},
    {"depthwise", 1, 8, 5, 4, 8, 3, 3, 8, {{1, 1}, {1, 1}, {1, 1}, {1, 1}}},
};

enum { NSHAPE = sizeof(shapes) / sizeof(shapes[0]) };

struct problem {
    const struct shape *s;
    int64_t oh, ow, nx, nw, ny;
    float *x, *w, *y;
};

static int64_t outputs(const struct shape *s, int d)
{
    int64_t in = d ? s->w : s->h, taps = d ? s->s : s->r;

    return (in + s->conv.pre[d] + s->conv.post[d] - s->conv.dilation[d] * (taps - 1) -
            1) /
               s->conv.stride[d] +
           1;
}

static struct problem problem(const struct shape *s)
{
    struct problem p = {.s = s, .oh = outputs(s, 0), .ow = outputs(s, 1)};

    p.nx = s->n * s->c * s->h * s->w;
    p.nw = s->k * s->c / s->groups * s->r * s->s;
    p.ny = s->n * s->k * p.oh * p.ow;
    p.x = run_floats(p.nx + p.nw + p.ny + 8);
    p.w = p.x + (p.nx + 3) / 4 * 4;
    p.y = p.w + (p.nw + 3) / 4 * 4;
    run_fill(p.x, p.nx + p.nw + p.ny + 8, 7);
    return p;
}

/*
 * Every product of the definition once: y[n,k,oh,ow] = sum x[n,c,ih,iw] w[k,c,r,s]. With
 * images NHWC and filters KRSC; `dst` is the summed tensor of the three.
 */
static void define(const struct problem *p, const float *x, const float *w,
                   const float *y, float *dst)
{
    const struct shape *s = p->s;
    int64_t cg = s->c / s->groups, kg = s->k / s->groups;

    for (int64_t i = 0; i < p->ny * s->r * s->s * cg; i++) {
        int64_t c = i % cg, tap = i / cg % (s->r * s->s), o = i / cg / (s->r * s->s);
        int64_t k = o % s->k, ow = o / s->k % p->ow, oh = o / s->k / p->ow % p->oh;
        int64_t n = o / s->k / p->ow / p->oh, r = tap / s->s, q = tap % s->s;
        int64_t ih = oh * s->conv.stride[0] - s->conv.pre[0] + r * s->conv.dilation[0];
        int64_t iw = ow * s->conv.stride[1] - s->conv.pre[1] + q * s->conv.dilation[1];
        int64_t xi = ((n * s->h + ih) * s->w + iw) * s->c + k / kg * cg + c;
        int64_t wi = ((k * s->r + r) * s->s + q) * cg + c;

        if (ih < 0 || ih >= s->h || iw < 0 || iw >= s->w)
            continue;
        if (!y)
            dst[o] += x[xi] * w[wi];
        else if (!x)
            dst[xi] += y[o] * w[wi];
        else
            dst[wi] += y[o] * x[xi];
    }
}

static void *image(const struct problem *p, int64_t uid)
{
    return api_nhwc(a, uid, F32, p->s->n, p->s->c, p->s->h, p->s->w);
}

static void *filter(const struct problem *p, int64_t uid)
{
    return api_nhwc(a, uid, F32, p->s->k, p->s->c / p->s->groups, p->s->r, p->s->s);
}

static void *response(const struct problem *p, int64_t uid)
{
    return api_nhwc(a, uid, F32, p->s->n, p->s->k, p->oh, p->ow);
}

static void check_convolution(const struct shape *s, int index, int64_t engine)
{
    static const int64_t uids[3] = {1, 2, 3};
    struct problem p = problem(s);
    int64_t n = index == 0 ? p.ny : index == 1 ? p.nx : p.nw;
    float *got = run_floats(n), *want = run_floats(n);
    void *op;

    if (index == 0) {
        define(&p, p.x, p.w, NULL, want);
        op = api_forward(a, &s->conv, image(&p, 1), filter(&p, 2), response(&p, 3));
        run_graph(1, &op, engine, 3, uids, (void *[]){p.x, p.w, got});
    } else if (index == 1) {
        define(&p, NULL, p.w, p.y, want);
        op = api_backward_data(a, &s->conv, response(&p, 1), filter(&p, 2), image(&p, 3));
        run_graph(1, &op, engine, 3, uids, (void *[]){p.y, p.w, got});
    } else {
        define(&p, p.x, NULL, p.y, want);
        op = api_backward_filter(a, &s->conv, image(&p, 1), response(&p, 2),
                                 filter(&p, 3), 0);
        run_graph(1, &op, engine, 3, uids, (void *[]){p.x, p.y, got});
    }
    run_compare(s->name, got, want, n, 0);
    free(p.x);
    free(got);
    free(want);
}

static void test_forward(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPE; i++)
        check_convolution(&shapes[i], 0, EXACT);
}

static void test_backward_data(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPE; i++)
        check_convolution(&shapes[i], 1, EXACT);
}

static void test_backward_filter(void **state)
{
    (void)state;
    for (int i = 0; i < NSHAPE; i++)
        check_convolution(&shapes[i], 2, EXACT);
}

/* beta scales the old value */
static void test_beta(void **state)
{
    const struct shape *s = &shapes[1];
    struct problem p = problem(s);
    float *got = run_floats(p.nw), *want = run_floats(p.nw);
    void *op =
        api_backward_filter(a, &s->conv, image(&p, 1), response(&p, 2), filter(&p, 3), 1);

    (void)state;
    for (int64_t i = 0; i < p.nw; i++)
        got[i] = want[i] = (float)(i % 5);
    define(&p, p.x, NULL, p.y, want);
    run_graph(1, &op, EXACT, 3, (int64_t[]){1, 2, 3}, (void *[]){p.x, p.y, got});
    run_compare("beta", got, want, p.nw, 0);
    free(p.x);
    free(got);
    free(want);
}

/* 1 + 2^-12 has more than 10 bits: a tensor-core engine reads 1. */
static float one_product(cudnnDataType_t type, int64_t engine)
{
    static const struct api_conv c = {{0, 0}, {0, 0}, {1, 1}, {1, 1}};
    _Alignas(16) float x[4] = {1 + 0x1p-12f}, w[4] = {1}, y[4] = {0};
    void *op =
        api_forward(a, &c, api_nhwc(a, 1, type, 1, 1, 1, 1),
                    api_nhwc(a, 2, type, 1, 1, 1, 1), api_nhwc(a, 3, type, 1, 1, 1, 1));

    run_graph(1, &op, engine, 3, (int64_t[]){1, 2, 3}, (void *[]){x, w, y});
    return y[0];
}

static void test_tf32(void **state)
{
    (void)state;
    assert_true(one_product(F32, EXACT) == 1 + 0x1p-12f);
    assert_true(one_product(F32, TF32) == 1);
}

/* The engine that splits its sums varies the last bit from run to run. */
static void test_nondeterministic(void **state)
{
    const struct shape *s = &shapes[1];
    struct problem p = problem(s);
    float *got[2];
    bool differs = false;

    (void)state;
    for (int i = 0; i < 2; i++) {
        void *op = api_backward_filter(a, &s->conv, image(&p, 1), response(&p, 2),
                                       filter(&p, 3), 0);

        got[i] = run_floats(p.nw);
        run_graph(1, &op, SPLIT, 3, (int64_t[]){1, 2, 3}, (void *[]){p.x, p.y, got[i]});
    }
    run_compare("split", got[0], got[1], p.nw, 1e-3f);
    for (int64_t i = 0; i < p.nw; i++)
        differs |= got[0][i] != got[1][i];
    assert_true(differs);
    free(got[0]);
    free(got[1]);
    free(p.x);
}

/* ---- fused graphs ---- */

/* relu(conv(x, w) + bias + z), at most 5, in half */
static void test_conv_bias_add_relu(void **state)
{
    const struct shape *s = &shapes[1];
    struct problem p = problem(s);
    float *want = run_floats(p.ny);
    uint16_t *h = (uint16_t *)run_floats(p.nx + p.nw + 2 * p.ny + 64);
    uint16_t *x = h, *w = x + (p.nx + 7) / 8 * 8, *z = w + (p.nw + 7) / 8 * 8;
    uint16_t *y = z + (p.ny + 7) / 8 * 8;
    _Alignas(16) uint16_t bias[8];
    void *relu, *pw = api_new(a, CUDNN_BACKEND_POINTWISE_DESCRIPTOR), *ops[4];
    void *t[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        t[i] = api_virtual(a, 10 + i, F32, s->n, s->k, p.oh, p.ow);
    for (int64_t i = 0; i < p.nx; i++)
        x[i] = fp16_from_float(p.x[i]);
    for (int64_t i = 0; i < p.nw; i++)
        w[i] = fp16_from_float(p.w[i]);
    define(&p, p.x, p.w, NULL, want);
    for (int64_t i = 0; i < p.ny; i++) {
        z[i] = fp16_from_float(p.y[i]);
        want[i] += (float)(i % s->k) + p.y[i];
        want[i] = want[i] < 0 ? 0 : want[i] > 5 ? 5 : want[i];
    }
    for (int i = 0; i < 8; i++)
        bias[i] = fp16_from_float((float)i);
    ops[0] = api_forward(a, &s->conv, api_nhwc(a, 1, F16, s->n, s->c, s->h, s->w),
                         api_nhwc(a, 2, F16, s->k, s->c, s->r, s->s), t[0]);
    ops[1] =
        api_pointwise(a, CUDNN_POINTWISE_ADD, t[0], api_channels(a, 3, F16, s->k), t[1]);
    ops[2] = api_pointwise(a, CUDNN_POINTWISE_ADD, t[1],
                           api_nhwc(a, 4, F16, s->n, s->k, p.oh, p.ow), t[2]);
    api_set_enum(a, pw, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
                 CUDNN_POINTWISE_RELU_FWD);
    api_set_enum(a, pw, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, F32);
    api_set_float(a, pw, CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, 5);
    relu = api_new(a, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    api_set_desc(a, relu, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, api_done(a, pw));
    api_set_desc(a, relu, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, t[2]);
    api_set_desc(a, relu, CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
                 api_nhwc(a, 5, F16, s->n, s->k, p.oh, p.ow));
    ops[3] = api_done(a, relu);
    /* in another order than the data */
    run_graph(4, (void *[]){ops[3], ops[1], ops[0], ops[2]}, TF32, 5,
              (int64_t[]){5, 4, 3, 2, 1}, (void *[]){y, z, bias, w, x});
    for (int64_t i = 0; i < p.ny; i++)
        if (!(fp16_to_float(y[i]) == want[i]))
            fail_msg("element %lld is %g, not %g", (long long)i,
                     (double)fp16_to_float(y[i]), (double)want[i]);
    free(p.x);
    free(want);
    free(h);
}

/* one pointwise operation on two numbers */
static float pointwise(cudnnPointwiseMode_t mode, float x, float b)
{
    _Alignas(16) float v[3][4] = {{x}, {b}, {0}};
    void *tx = api_nhwc(a, 1, F32, 1, 1, 1, 1), *ty = api_nhwc(a, 3, F32, 1, 1, 1, 1);
    bool two = !isnan(b);
    void *tb = two ? api_nhwc(a, 2, F32, 1, 1, 1, 1) : NULL;
    void *op = api_pointwise(a, mode, tx, tb, ty);

    run_graph(1, &op, ALONE, two ? 3 : 2, two ? (int64_t[]){1, 3, 2} : (int64_t[]){1, 3},
              two ? (void *[]){v[0], v[2], v[1]} : (void *[]){v[0], v[2]});
    return v[2][0];
}

static void test_pointwise(void **state)
{
    static const struct {
        cudnnPointwiseMode_t mode;
        float x, b, y;
    } rows[] = {
        {CUDNN_POINTWISE_ADD, 2, 3, 5},
        {CUDNN_POINTWISE_SUB, 2, 3, -1},
        {CUDNN_POINTWISE_MUL, 2, 3, 6},
        {CUDNN_POINTWISE_DIV, 3, 2, 1.5f},
        {CUDNN_POINTWISE_MAX, 2, 3, 3},
        {CUDNN_POINTWISE_MIN, 2, 3, 2},
        {CUDNN_POINTWISE_CMP_GT, 2, 3, 0},
        {CUDNN_POINTWISE_CMP_LE, 2, 3, 1},
        {CUDNN_POINTWISE_SQRT, 9, NAN, 3},
        {CUDNN_POINTWISE_RSQRT, 4, NAN, 0.5f},
        {CUDNN_POINTWISE_IDENTITY, -4, NAN, -4},
        {CUDNN_POINTWISE_RELU_FWD, -4, NAN, 0},
        {CUDNN_POINTWISE_RELU_FWD, 4, NAN, 4},
        {CUDNN_POINTWISE_SIGMOID_FWD, 0.5f, NAN, 0.62245933f},
        {CUDNN_POINTWISE_GELU_FWD, 0.5f, NAN, 0.34573123f},
        {CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, 0.5f, NAN, 0.34571400f},
        {CUDNN_POINTWISE_SWISH_FWD, 0.5f, NAN, 0.31122967f},
        {CUDNN_POINTWISE_RELU_BWD, -1, 3, 0},
        {CUDNN_POINTWISE_RELU_BWD, 1, 3, 3},
        {CUDNN_POINTWISE_SIGMOID_BWD, 0.5f, 2, 0.47000742f},
        {CUDNN_POINTWISE_GELU_BWD, 0.5f, 2, 1.7349901f},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        float y = pointwise(rows[i].mode, rows[i].x, rows[i].b);

        if (!(fabsf(y - rows[i].y) <= 1e-6f))
            fail_msg("mode %d of %g, %g is %.9g, not %.9g", (int)rows[i].mode,
                     (double)rows[i].x, (double)rows[i].b, (double)y, (double)rows[i].y);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forward),
        cmocka_unit_test(test_backward_data),
        cmocka_unit_test(test_backward_filter),
        cmocka_unit_test(test_beta),
        cmocka_unit_test(test_tf32),
        cmocka_unit_test(test_nondeterministic),
        cmocka_unit_test(test_conv_bias_add_relu),
        cmocka_unit_test(test_pointwise),
    };

    return cmocka_run_group_tests(tests, run_setup, run_teardown);
}
