/*
 * oneDNN's convolutions and linear layers against plain loops: each direction and type,
 * on shapes that select each of its algorithms. Shapes with wrong results in the library
 * must be declined in src/cpu/onednn_create.c.
 */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/philox.h"
#include "cpu/onednn.h"
#include "tests/test.h"

static struct onednn *onednn;
static int compared;

struct side {
    float *f;   /* the values */
    void *data; /* as the primitive stores them */
    int64_t n;
};

/* Stored as t; the values are exact in `exact`. */
static struct side side_new(int64_t n, enum dtype t, enum dtype exact, uint32_t what)
{
    struct side s = {xcalloc((size_t)n, sizeof(float)),
                     xalloc_aligned((size_t)n * sizeof(float)), n};

    for (int64_t i = 0; i < n; i++) {
        float f = philox_uniform(philox(1, PHILOX_TEST, what, (uint64_t)i).v[0]) - 0.5f;
        uint16_t h = bf16_from_float(f);

        s.f[i] = exact == DTYPE_BF16 ? bf16_to_float(h) : f;
        if (t == DTYPE_BF16)
            ((uint16_t *)s.data)[i] = h;
        else
            ((float *)s.data)[i] = s.f[i];
    }
    return s;
}

static float side_at(const struct side *s, enum dtype t, int64_t i)
{
    return t == DTYPE_BF16 ? bf16_to_float(((const uint16_t *)s->data)[i])
                           : ((const float *)s->data)[i];
}

static void side_free(struct side *s)
{
    free(s->f);
    free(s->data);
}

struct sides {
    struct side x, y, w, add, bias;
};

static struct sides sides_new(const struct onednn_conv *c)
{
    int64_t y = c->batch * c->out_height * c->out_width * c->out;

    return (struct sides){
        side_new(c->batch * c->height * c->width * c->in, c->type, c->type, 1),
        side_new(y, c->type, c->type, 2),
        side_new(c->out * c->kernel[0] * c->kernel[1] * c->in / c->groups, DTYPE_F32,
                 c->type, 3),
        side_new(y, c->type, c->type, 4),
        side_new(c->out, DTYPE_F32, DTYPE_F32, 5),
    };
}

static void sides_free(struct sides *s)
{
    side_free(&s->x);
    side_free(&s->y);
    side_free(&s->w);
    side_free(&s->add);
    side_free(&s->bias);
}

/* Returns the input pixel of one output pixel and tap, or -1 outside. */
static int64_t pixel(const struct onednn_conv *c, int64_t n, int64_t oh, int64_t ow,
                     int64_t kh, int64_t kw)
{
    int64_t h = oh * c->stride[0] - c->pad[0] + kh * c->dilation[0],
            w = ow * c->stride[1] - c->pad[1] + kw * c->dilation[1];

    if (h < 0 || w < 0 || h >= c->height || w >= c->width)
        return -1;
    return ((n * c->height + h) * c->width + w) * c->in;
}

/* Adds the contribution of one tap to the tensor that this direction computes. */
static void tap(const struct onednn_conv *c, const struct sides *s, double *want,
                int64_t x, int64_t y, int64_t k)
{
    int64_t in = c->in / c->groups, out = c->out / c->groups;

    for (int64_t o = 0; o < c->out; o++) {
        const int64_t w = (o * c->kernel[0] * c->kernel[1] + k) * in,
                      pos = x + o / out * in;

        for (int64_t i = 0; i < in; i++)
            if (c->direction == ONEDNN_FORWARD)
                want[y + o] += (double)s->x.f[pos + i] * (double)s->w.f[w + i];
            else if (c->direction == ONEDNN_BACKWARD_DATA)
                want[pos + i] += (double)s->y.f[y + o] * (double)s->w.f[w + i];
            else
                want[w + i] += (double)s->y.f[y + o] * (double)s->x.f[pos + i];
    }
}

static void plain_loops(const struct onednn_conv *c, const struct sides *s, double *want)
{
    int64_t pixels = c->batch * c->out_height * c->out_width;

    for (int64_t p = 0; p < pixels; p++)
        for (int64_t k = 0; k < c->kernel[0] * c->kernel[1]; k++) {
            int64_t x = pixel(c, p / c->out_width / c->out_height,
                              p / c->out_width % c->out_height, p % c->out_width,
                              k / c->kernel[1], k % c->kernel[1]);

            if (x >= 0)
                tap(c, s, want, x, p * c->out, k);
        }
    for (int64_t i = 0; c->direction == ONEDNN_FORWARD && i < pixels * c->out; i++)
        want[i] += (c->bias ? (double)s->bias.f[i % c->out] : 0) +
                   (c->add ? (double)s->add.f[i] : 0);
}

/* made: starts without values. */
static void run(const struct onednn_conv *c, struct onednn_prim *p, struct sides *s,
                struct side *made)
{
    bool weights = c->direction == ONEDNN_BACKWARD_WEIGHTS;
    struct onednn_pack *pack =
        onednn_pack_new(onednn, p, weights ? ONEDNN_UNPACK : ONEDNN_PACK);
    void *packed = xalloc_aligned(onednn_prim_weights_size(p) + 64),
         *scratch = xalloc_aligned(onednn_prim_scratch(p) + 64);
    struct onednn_args a = {
        .src = s->x.data,
        .weights = packed,
        .bias = c->bias ? s->bias.data : NULL,
        .dst = s->y.data,
        .add = c->add ? s->add.data : NULL,
        .scratch = scratch,
    };

    if (!weights)
        onednn_pack_run(pack, packed, s->w.data);
    memset(made->data, 0xff, (size_t)made->n * (weights ? 4 : dtype_size(c->type)));
    onednn_prim_run(p, &a);
    if (weights)
        onednn_pack_run(pack, packed, s->w.data);
    onednn_pack_free(pack);
    free(packed);
    free(scratch);
}

/* Returns the largest error relative to the rounding error that the sum may have; NaN
 * stays. */
static double compare(const struct onednn_conv *c, const struct side *got,
                      const double *want)
{
    bool weights = c->direction == ONEDNN_BACKWARD_WEIGHTS;
    enum dtype t = weights ? DTYPE_F32 : c->type;
    double worst = 0;

    for (int64_t i = 0; i < got->n; i++) {
        double room = c->type == DTYPE_BF16 ? (1 + fabs(want[i])) / 128 : 1e-3,
               error = fabs((double)side_at(got, t, i) - want[i]) / room;

        worst = error <= worst ? worst : error;
    }
    return worst;
}

/* Takes ownership of p. */
static void check_prim(const struct onednn_conv *c, struct onednn_prim *p)
{
    static const char *const directions[] = {"forward", "data gradient",
                                             "weight gradient"};
    struct sides s;
    struct side *made;
    double *want, error;

    if (!p) /* declined */
        return;
    compared++;
    s = sides_new(c);
    made = c->direction == ONEDNN_FORWARD         ? &s.y
           : c->direction == ONEDNN_BACKWARD_DATA ? &s.x
                                                  : &s.w;
    want = xcalloc((size_t)made->n, sizeof(*want));
    plain_loops(c, &s, want);
    run(c, p, &s, made);
    error = compare(c, made, want);
    if (!(error <= 1))
        fail_msg("%s in %s, %s: %d to %d channels, %dx%d, kernel %dx%d, dilation %dx%d, "
                 "stride %d%s: %g times the tolerance",
                 directions[c->direction], dtype_name(c->type), onednn_prim_name(p),
                 (int)c->in, (int)c->out, (int)c->height, (int)c->width,
                 (int)c->kernel[0], (int)c->kernel[1], (int)c->dilation[0],
                 (int)c->dilation[1], (int)c->stride[0], c->add ? ", add" : "", error);
    free(want);
    sides_free(&s);
    onednn_prim_free(p);
}

static void check(const struct onednn_conv *c)
{
    check_prim(c, onednn_conv_new(onednn, c));
}

struct shape {
    int in, out, height, width, kernel[2], dilation[2], stride, groups;
};

static void check_shape(const struct shape *s, enum dtype t)
{
    struct onednn_conv c = {
        .type = t,
        .groups = s->groups,
        .batch = 2,
        .in = s->in,
        .height = s->height,
        .width = s->width,
        .out = s->out,
    };

    for (int i = 0; i < 2; i++) {
        c.kernel[i] = s->kernel[i];
        c.dilation[i] = s->dilation[i];
        c.stride[i] = s->stride;
        c.pad[i] = c.pad_end[i] = s->kernel[i] / 2 * c.dilation[i];
    }
    c.out_height = (s->height - 1) / c.stride[0] + 1;
    c.out_width = (s->width - 1) / c.stride[1] + 1;
    for (int add = 0; add < 2; add++) {
        c.add = add;
        c.bias = true;
        check(&c);
    }
    c.add = c.bias = false;
    check(&c);
    for (c.direction = ONEDNN_BACKWARD_DATA; c.direction <= ONEDNN_BACKWARD_WEIGHTS;
         c.direction++)
        check(&c);
}

/* channels, size, kernel, dilation, stride, groups */
static const struct shape shapes[] = {
    {3, 16, 9, 20, {3, 3}, {1, 1}, 2, 1},     {3, 64, 16, 18, {7, 7}, {1, 1}, 2, 1},
    {16, 16, 4, 40, {1, 3}, {1, 1}, 1, 1},    {16, 16, 7, 9, {3, 3}, {1, 1}, 1, 1},
    {16, 48, 8, 10, {3, 3}, {1, 1}, 2, 1},    {64, 64, 5, 33, {3, 1}, {1, 1}, 1, 1},
    {64, 64, 7, 7, {3, 3}, {1, 1}, 1, 1},     {64, 128, 6, 8, {3, 3}, {1, 1}, 2, 1},
    {64, 256, 7, 7, {1, 1}, {1, 1}, 1, 1},    {256, 64, 7, 7, {1, 1}, {1, 1}, 1, 1},
    {128, 256, 8, 8, {1, 1}, {1, 1}, 2, 1},   {64, 64, 6, 6, {3, 3}, {1, 1}, 1, 32},
    {128, 128, 3, 60, {1, 3}, {1, 2}, 1, 1},  {128, 128, 3, 60, {1, 3}, {1, 8}, 1, 1},
    {128, 128, 3, 60, {1, 3}, {1, 16}, 1, 1}, {128, 128, 40, 3, {3, 1}, {16, 1}, 1, 1},
    {20, 12, 6, 50, {3, 3}, {8, 8}, 1, 1},    {128, 21, 5, 18, {1, 1}, {1, 1}, 1, 1},
    {99, 32, 10, 18, {1, 1}, {1, 1}, 1, 1},
};

static void shapes_in(enum dtype t)
{
    if (!onednn_has_dtype(t))
        skip();
    compared = 0;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
        check_shape(&shapes[i], t);
    print_message("%d convolutions in %s\n", compared, dtype_name(t));
    assert_true(compared >= 4 * (int)(sizeof(shapes) / sizeof(shapes[0])));
}

static void fp32_is_what_plain_loops_give(void **state)
{
    (void)state;
    shapes_in(DTYPE_F32);
}

static void bf16_is_what_plain_loops_give(void **state)
{
    (void)state;
    shapes_in(DTYPE_BF16);
}

/* A linear layer is a convolution over images of one pixel. */
static void check_linear(int64_t rows, int64_t in, int64_t out, enum dtype t)
{
    struct onednn_conv c = {
        .type = t,
        .groups = 1,
        .batch = rows,
        .in = in,
        .height = 1,
        .width = 1,
        .out = out,
        .out_height = 1,
        .out_width = 1,
        .kernel = {1, 1},
        .stride = {1, 1},
        .dilation = {1, 1},
    };

    for (int direction = ONEDNN_FORWARD; direction <= ONEDNN_BACKWARD_WEIGHTS;
         direction++) {
        struct onednn_linear l = {.direction = (enum onednn_direction)direction,
                                  .type = t,
                                  .rows = rows,
                                  .in = in,
                                  .out = out};

        c.direction = l.direction;
        check_prim(&c, onednn_linear_new(onednn, &l));
    }
}

/* Few features to many classes: the library splits these sums among threads. */
static void linear_layers_are_what_plain_loops_give(void **state)
{
    static const int out[] = {10, 700, 1000, 1280, 2047, 2048, 2049, 2112, 3000};
    static const int in[] = {8, 16, 32, 64, 65};

    (void)state;
    compared = 0;
    for (size_t i = 0; i < sizeof(in) / sizeof(in[0]); i++)
        for (size_t o = 0; o < sizeof(out) / sizeof(out[0]); o++)
            for (int rows = 1; rows <= 33; rows += 32) {
                check_linear(rows, in[i], out[o], DTYPE_F32);
                if (onednn_has_dtype(DTYPE_BF16))
                    check_linear(rows, in[i], out[o], DTYPE_BF16);
            }
    print_message("%d linear layers\n", compared);
    assert_true(compared >= 5 * 9 * 3 * 2);
}

/* More positions than an int holds, for which the library would generate code forever. */
static void test_too_many(void **state)
{
    struct onednn_conv c = {
        .direction = ONEDNN_BACKWARD_WEIGHTS,
        .type = DTYPE_F32,
        .groups = 1,
        .batch = 1,
        .in = 16,
        .height = 65536,
        .width = 65536,
        .out = 16,
        .out_height = 65536,
        .out_width = 65536,
        .kernel = {3, 3},
        .stride = {1, 1},
        .dilation = {1, 1},
        .pad = {1, 1},
        .pad_end = {1, 1},
    };

    (void)state;
    for (int direction = ONEDNN_FORWARD; direction <= ONEDNN_BACKWARD_WEIGHTS;
         direction++) {
        c.direction = (enum onednn_direction)direction;
        assert_null(onednn_conv_new(onednn, &c));
    }
}

/* Weight gradients in which the library's threads would interfere. */
static void test_copies_apart(void **state)
{
    struct onednn_conv c = {
        .direction = ONEDNN_BACKWARD_WEIGHTS,
        .type = DTYPE_F32,
        .groups = 1,
        .batch = 2,
        .in = 64,
        .height = 6,
        .width = 6,
        .out = 64,
        .out_height = 3,
        .out_width = 3,
        .kernel = {1, 1},
        .stride = {2, 2},
        .dilation = {1, 1},
    };
    struct onednn_prim *p = onednn_conv_new(onednn, &c);

    (void)state;
    assert_non_null(p);
    onednn_prim_free(p);
    for (c.in = 3; c.in <= 12; c.in *= 4)
        assert_null(onednn_conv_new(onednn, &c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fp32_is_what_plain_loops_give),
        cmocka_unit_test(bf16_is_what_plain_loops_give),
        cmocka_unit_test(linear_layers_are_what_plain_loops_give),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_copies_apart),
    };
    int failed;

    omp_set_num_threads(2); /* also on a machine with one core */
    onednn = onednn_open();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    onednn_close(onednn);
    return failed;
}
