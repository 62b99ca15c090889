/*
 * Every set of our own convolution loops (cpu/conv/conv.h) against plain loops: shapes of
 * the models, shapes at the edges of what a set supports, and generated ones. Sets that
 * this machine cannot run are skipped.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "cpu/backend.h"
#include "cpu/conv/conv.h"
#include "tests/cpu/conv_data.h"
#include "tests/test.h"

enum { MADE_UP = 80 };

static bool has_amx(const struct device *dev)
{
    return dev->amx;
}

static bool has_bf16(const struct device *dev)
{
    return dev->loops->conv.gemm_pairs != NULL;
}

static bool has_avx2(const struct device *dev)
{
    return dev->loops->lanes >= 8;
}

struct set {
    const char *name;
    const struct conv_loops *loops;
    bool (*runs)(const struct device *dev); /* true if the device can run them */
};

static const struct set amx = {"amx", &conv_amx, has_amx};
static const struct set direct = {"direct", &conv_direct, has_bf16};
static const struct set narrow = {"narrow", &conv_narrow, has_bf16};
static const struct set gemm = {"gemm", &conv_gemm, has_avx2};
static const struct set winograd = {"winograd", &conv_winograd, has_avx2};

static void compare(const struct conv_data *d, const char *set, const char *what,
                    const void *got, enum dtype t, const double *want, int64_t n)
{
    const struct conv_shape *s = &d->s;
    double top = 0, worst = 0, limit = t == DTYPE_F32 ? 1e-5 : 4e-3;

    for (int64_t i = 0; i < n; i++)
        top = fmax(top, fabs(want[i]));
    for (int64_t i = 0; i < n; i++) {
        double e = fabs(conv_get(got, t, i) - want[i]);

        worst = e > worst || isnan(e) ? e : worst;
        if (isnan(e))
            break;
    }
    if (!(worst <= limit * top + 1e-6))
        fail_msg("%s %s, %s of %d x %d x %d x %d to %d x %d x %d, kernel %d x %d, stride "
                 "%d %d, padding %d %d, dilation %d %d: off by %g of %g",
                 set, dtype_name(s->type), what, s->n, s->h, s->w, s->c, s->ho, s->wo,
                 s->k, s->kernel_h, s->kernel_w, s->stride_h, s->stride_w, s->pad_h,
                 s->pad_w, s->dilation_h, s->dilation_w, worst, top);
}

static void begin(struct conv_data *d, const struct device *dev,
                  const struct conv_loops *l, bool backward, size_t scratch)
{
    d->packed = buffer_new(l->packed(&d->s));
    d->scratch = buffer_new(scratch);
    l->pack(dev, &d->s, d->packed.p, (const float *)d->w.p, backward);
}

static void end(struct conv_data *d)
{
    buffer_free(&d->packed);
    buffer_free(&d->scratch);
}

enum fused { PLAIN, FUSED, ADDED, ADDED_IN_PLACE, SILU, FUSED_KINDS };

static double silu(double x)
{
    return x / (1 + exp(-x));
}

/* y = relu(conv(x) + bias [+ d->y]), or with silu, or conv(x) alone */
static void check_forward(struct conv_data *d, const struct device *dev, const char *name,
                          const struct conv_loops *l, enum fused fused)
{
    static const char *const what[] = {"y", "relu(y + bias)", "relu(y + bias + add)",
                                       "relu(y + bias + add), in place",
                                       "silu(y + bias)"};
    const struct conv_shape *s = &d->s;
    struct buffer y = buffer_new(d->y.size);
    double *want = xcalloc((size_t)d->ny, sizeof(*want));
    bool added = fused == ADDED || fused == ADDED_IN_PLACE;

    if (fused == ADDED_IN_PLACE)
        memcpy(y.p, d->y.p, y.size);
    for (int64_t i = 0; i < d->ny; i++) {
        want[i] = d->want_y[i] + (added ? conv_get(d->y.p, s->type, i) : 0);
        if (fused)
            want[i] += conv_get(d->bias.p, DTYPE_F32, i % s->k);
        if (fused)
            want[i] = fused == SILU ? silu(want[i]) : fmax(0, want[i]);
    }
    begin(d, dev, l, false, l->forward_scratch(s, dev->threads));
    l->forward(
        dev, s,
        &(const struct conv_args){
            .src = d->x.p,
            .packed = d->packed.p,
            .bias = fused ? (const float *)d->bias.p : NULL,
            .add = !added           ? NULL
                   : fused == ADDED ? d->y.p
                                    : y.p,
            .dst = y.p,
            .act = {fused ? activation_find(fused == SILU ? "silu" : "relu") : NULL, 0},
            .scratch = d->scratch.p,
        });
    compare(d, name, what[fused], y.p, s->type, want, d->ny);
    end(d);
    buffer_free(&y);
    free(want);
}

/* dx [+ bias], 0 where the mask is off */
static void check_data_grad(struct conv_data *d, const struct device *dev,
                            const char *name, const struct conv_loops *l, bool fused)
{
    const struct conv_shape *s = &d->s;
    const float *bias = fused && l->data_grad_bias ? (const float *)d->bias.p : NULL;
    double *want = xcalloc((size_t)d->nx, sizeof(*want));

    for (int64_t i = 0; i < d->nx; i++) {
        want[i] = d->want_dx[i] + (bias ? (double)bias[i % s->c] : 0);
        if (fused && conv_get(d->mask.p, s->type, i) <= 0)
            want[i] = 0;
    }
    begin(d, dev, l, true, l->data_grad_scratch(s, dev->threads));
    l->data_grad(dev, s,
                 &(const struct conv_args){
                     .src = d->y.p,
                     .packed = d->packed.p,
                     .bias = bias,
                     .relu_mask = fused ? d->mask.p : NULL,
                     .dst = d->dx.p,
                     .scratch = d->scratch.p,
                 });
    compare(d, name, fused ? "masked dx" : "dx", d->dx.p, s->type, want, d->nx);
    end(d);
    free(want);
}

/* Taps that only meet the border must be exactly 0: Adam divides by the size of a
 * gradient, so noise would become steps. */
static void check_zeros(const struct conv_data *d, const char *name)
{
    for (int64_t i = 0; i < d->nw; i++)
        if (d->want_dw[i] == 0 && !(conv_get(d->dw.p, DTYPE_F32, i) == 0))
            fail_msg("%s: dw %lld is %g, and nothing contributes to it", name,
                     (long long)i, conv_get(d->dw.p, DTYPE_F32, i));
}

static void check_weight_grad(struct conv_data *d, const struct device *dev,
                              const char *name, const struct conv_loops *l, bool fused)
{
    const struct conv_shape *s = &d->s;

    d->scratch = buffer_new(l->weight_grad_scratch(s, dev->threads));
    l->weight_grad(dev, s, d->x.p, d->y.p, (float *)d->dw.p,
                   fused && !l->no_db ? (float *)d->db.p : NULL, d->scratch.p);
    compare(d, name, "dw", d->dw.p, DTYPE_F32, d->want_dw, d->nw);
    check_zeros(d, name);
    if (fused && !l->no_db)
        compare(d, name, "db", d->db.p, DTYPE_F32, d->want_db, s->k);
    buffer_free(&d->scratch);
}

/* Returns how many of the three directions the set supports. */
static int check_shape(const struct device *dev, const struct set *set,
                       const struct conv_shape *s)
{
    const struct conv_loops *l = set->loops;
    const char *name = set->name;
    bool forward = !l->forward_can(dev, s), data = !l->data_grad_can(dev, s),
         weight = !l->weight_grad_can(dev, s);
    struct conv_data d;

    if (!forward && !data && !weight)
        return 0;
    d = conv_data_new(s);
    for (int fused = PLAIN; forward && fused < FUSED_KINDS; fused++)
        if (fused == PLAIN ||
            (fused == FUSED || fused == SILU ? !l->unfused
                                             : l->chains >= CONV_CHAINS_RELU))
            check_forward(&d, dev, name, l, (enum fused)fused);
    for (int fused = 0; fused < (l->unfused ? 1 : 2); fused++) {
        if (data)
            check_data_grad(&d, dev, name, l, fused);
        if (weight)
            check_weight_grad(&d, dev, name, l, fused);
    }
    conv_data_free(&d);
    return forward + data + weight;
}

static int out_size(int in, int kernel, int stride, int pad, int dilation)
{
    return (in + 2 * pad - (kernel - 1) * dilation - 1) / stride + 1;
}

struct size {
    int n, h, w, c, k, kernel_h, kernel_w, stride, pad_h, pad_w, dilation_h, dilation_w;
};

static struct conv_shape shape(const struct size *z)
{
    return (struct conv_shape){
        .type = DTYPE_BF16,
        .n = z->n,
        .h = z->h,
        .w = z->w,
        .c = z->c,
        .ho = out_size(z->h, z->kernel_h, z->stride, z->pad_h, z->dilation_h),
        .wo = out_size(z->w, z->kernel_w, z->stride, z->pad_w, z->dilation_w),
        .k = z->k,
        .kernel_h = z->kernel_h,
        .kernel_w = z->kernel_w,
        .stride_h = z->stride,
        .stride_w = z->stride,
        .pad_h = z->pad_h,
        .pad_w = z->pad_w,
        .dilation_h = z->dilation_h,
        .dilation_w = z->dilation_w,
        .linear = z->n * z->w * z->kernel_h * z->kernel_w == 1 && z->h > 1,
    };
}

static int between(int lo, int hi, uint32_t i, uint32_t what)
{
    return lo + (int)(philox(2, PHILOX_TEST, what, i).v[0] % (uint32_t)(hi - lo + 1));
}

static struct conv_shape made_up(uint32_t i)
{
    int kh = between(1, 4, i, 1), kw = between(1, 4, i, 2);
    int dh = between(1, 3, i, 3), dw = between(1, 3, i, 4);
    struct size z = {between(1, 3, i, 5),
                     between(10, 30, i, 6),
                     between(10, 50, i, 7),
                     16 * between(1, 4, i, 8),
                     16 * between(1, 4, i, 9),
                     kh,
                     kw,
                     between(1, 2, i, 10),
                     between(0, (kh - 1) * dh, i, 11),
                     between(0, (kw - 1) * dw, i, 12),
                     dh,
                     dw};

    return shape(&z);
}

static const struct size sizes[] = {
    /* n h w c k, kernel, stride, padding, dilation */
    {2, 7, 7, 32, 32, 3, 3, 1, 1, 1, 1, 1},
    {1, 5, 6, 16, 16, 3, 3, 1, 1, 1, 1, 1},
    {1, 1, 1, 32, 32, 3, 3, 1, 1, 1, 1, 1}, /* one pixel */
    {5, 2, 1, 32, 48, 3, 3, 1, 1, 1, 1, 1}, /* one pixel wide */
    {5, 1, 2, 32, 48, 3, 3, 1, 1, 1, 1, 1},
    {1, 1, 1, 32, 32, 1, 1, 1, 0, 0, 1, 1},
    {3, 8, 8, 64, 48, 1, 1, 1, 0, 0, 1, 1}, /* all images count as one */
    {3, 8, 9, 64, 48, 1, 1, 2, 0, 0, 1, 1}, /* only the columns that are read */
    {3, 7, 9, 64, 32, 1, 1, 2, 0, 0, 1, 1}, /* images end in a phase of dx */
    {3, 6, 7, 32, 32, 1, 1, 2, 1, 1, 1, 1},
    {3, 6, 7, 32, 32, 1, 1, 3, 0, 0, 1, 1},      /* phases of dx without a tap */
    {2, 7, 9, 1024, 32, 1, 1, 1, 0, 0, 1, 1},    /* rows of x and of dy 4 KiB apart */
    {1, 1, 13, 131072, 32, 1, 1, 1, 0, 0, 1, 1}, /* a few rows fill the caches */
    {1, 12, 13, 48, 2048, 1, 1, 1, 0, 0, 1, 1},
    {2, 9, 11, 32, 64, 3, 3, 2, 1, 1, 1, 1},
    {2, 12, 40, 16, 32, 3, 1, 1, 1, 0, 1, 1}, /* 3 x 1, image read in place */
    {2, 12, 40, 128, 32, 3, 1, 1, 4, 0, 4, 1},
    {2, 12, 40, 32, 64, 5, 1, 1, 2, 0, 1, 1},
    {2, 9, 13, 16, 16, 5, 1, 1, 40, 0, 20, 1}, /* taps beyond the image */
    {2, 40, 36, 64, 32, 3, 1, 1, 16, 0, 16, 1},
    {2, 12, 20, 32, 32, 1, 3, 1, 0, 4, 1, 4}, /* 1 x 3 */
    {2, 9, 13, 64, 80, 1, 3, 1, 0, 1, 1, 1},
    {2, 7, 27, 80, 64, 1, 3, 1, 0, 5, 1, 5},
    {2, 5, 8, 64, 64, 1, 3, 1, 0, 8, 1, 8}, /* taps reach just the image's edge */
    {2, 5, 9, 64, 64, 1, 3, 1, 0, 8, 1, 8},
    {2, 11, 6, 64, 96, 3, 1, 1, 1, 0, 1, 1},
    {2, 21, 5, 96, 64, 3, 1, 1, 4, 0, 4, 1},
    {1, 12, 3, 128, 2064, 3, 1, 1, 2, 0, 2, 1}, /* sums split among threads */
    {2, 12, 33, 128, 16, 1, 5, 1, 0, 2, 1, 1},
    {2, 12, 70, 16, 16, 3, 1, 1, 2, 0, 2, 1},
    {2, 11, 13, 32, 32, 7, 7, 2, 3, 3, 1, 1},
    {2, 11, 13, 16, 96, 3, 3, 3, 1, 1, 1, 1},
    {2, 13, 13, 32, 32, 3, 3, 1, 0, 0, 1, 1}, /* smaller than x */
    {2, 13, 13, 32, 32, 3, 3, 1, 2, 2, 1, 1}, /* larger */
    {1, 5, 5, 32, 32, 2, 2, 1, 3, 3, 1, 1},   /* taps that only meet the border */
    {2, 20, 22, 3, 16, 3, 3, 1, 1, 1, 1, 1},  /* a stem: rows of the kernel */
    {2, 20, 23, 3, 64, 7, 7, 2, 3, 3, 1, 1},
    {1, 9, 9, 1, 16, 3, 3, 1, 1, 1, 1, 1},
    {2, 8, 40, 3, 16, 1, 1, 1, 0, 0, 1, 1},
    {2, 6, 10, 5, 16, 2, 2, 2, 0, 0, 1, 1},
    {2, 8, 20, 12, 32, 3, 3, 1, 2, 1, 2, 1},    /* more than one multiply per row */
    {2, 64, 64, 64, 64, 3, 3, 1, 1, 1, 1, 1},   /* bands */
    {2, 20, 20, 512, 544, 1, 1, 1, 0, 0, 1, 1}, /* weights beyond a chunk */
    {3, 6, 7, 128, 544, 3, 3, 1, 1, 1, 1, 1},   /* threads split the channels of dy */
    {1, 8, 9, 512, 1120, 1, 1, 1, 0, 0, 1, 1},  /* weights beyond the cache */
    {1, 8, 9, 1040, 512, 1, 1, 1, 0, 0, 1, 1},
    {1, 70, 70, 256, 288, 2, 2, 1, 0, 0, 1, 1}, /* likewise, in several chunks */
    {1, 9, 11, 176, 32, 3, 3, 2, 1, 1, 1, 1},   /* taps cut into two products */
    {1, 9, 7, 160, 144, 3, 3, 1, 1, 1, 1, 1},   /* sums split among threads */
    {1, 4, 5, 544, 48, 3, 3, 1, 1, 1, 1, 1},    /* many channels */
    {1, 4, 5, 32, 544, 3, 3, 1, 1, 1, 1, 1},    /* sums of few columns */
    {1, 6, 5, 32, 8208, 1, 1, 1, 0, 0, 1, 1},
    {1, 197, 1, 48, 80, 1, 1, 1, 0, 0, 1, 1}, /* linear layers */
    {1, 301, 1, 64, 96, 1, 1, 1, 0, 0, 1, 1},
    {1, 401, 1, 256, 2176, 1, 1, 1, 0, 0, 1, 1}, /* dy in groups */
    {3, 32, 32, 3, 16, 3, 3, 1, 1, 1, 1, 1},     /* CIFAR's ResNets */
    {2, 32, 32, 16, 16, 3, 3, 1, 1, 1, 1, 1},
    {2, 32, 32, 16, 32, 3, 3, 2, 1, 1, 1, 1},
    {3, 16, 16, 32, 32, 3, 3, 1, 1, 1, 1, 1},
    {2, 16, 16, 32, 64, 3, 3, 2, 1, 1, 1, 1},
    {3, 8, 8, 64, 64, 3, 3, 1, 1, 1, 1, 1},
    {1, 48, 16, 16, 64, 3, 3, 1, 1, 1, 1, 1},
    {1, 6, 8, 64, 16, 3, 3, 1, 1, 1, 1, 1},
    /* near those shapes, one number off */
    {1, 32, 32, 16, 24, 3, 3, 1, 1, 1, 1, 1},
    {1, 32, 32, 24, 16, 3, 3, 1, 1, 1, 1, 1},
    {1, 30, 30, 16, 16, 3, 3, 1, 1, 1, 1, 1},
    {1, 33, 33, 16, 16, 3, 3, 2, 1, 1, 1, 1},
    {1, 32, 32, 16, 16, 3, 3, 3, 1, 1, 1, 1},
    {1, 7, 8, 64, 64, 3, 3, 1, 1, 1, 1, 1},
    {1, 16, 16, 16, 16, 3, 3, 1, 2, 2, 2, 2},
};

static const struct {
    struct size size;
    int groups;
} grouped[] = {
    {{2, 9, 14, 64, 64, 3, 3, 1, 1, 1, 1, 1}, 4},
    {{2, 9, 14, 48, 96, 3, 3, 2, 1, 1, 1, 1}, 3},
    {{1, 12, 13, 128, 64, 3, 3, 1, 2, 2, 2, 2}, 2},
    {{2, 8, 9, 96, 48, 1, 1, 1, 0, 0, 1, 1}, 3},
    {{1, 6, 15, 768, 1536, 3, 3, 1, 1, 1, 1, 1}, 12}, /* weights beyond the cache */
};

/* With TEST_NO_SLOW, shapes of more multiplications are left out, and numbers of threads. */
enum { QUICK = 4 << 20 };

static bool is_quick(const struct conv_shape *s)
{
    double taps = (double)s->kernel_h * s->kernel_w * s->c / conv_groups(s);

    return taps * s->n * s->ho * s->wo * s->k <= QUICK;
}

/* Checks both types; returns how many directions the set supports. */
static int check_types(const struct device *dev, const struct set *set,
                       const struct conv_shape *s)
{
    struct conv_shape other = *s, widened = *s;
    int taken;

    if (getenv("TEST_NO_SLOW") && !is_quick(s))
        return 0;
    other.type = DTYPE_F32;
    taken = check_shape(dev, set, s) + check_shape(dev, set, &other);
    widened.widen = true;
    return set != &gemm && set != &winograd ? taken
                                            : taken + check_shape(dev, set, &widened);
}

/* loops: the device's loops; NULL: the best of this machine */
static void check_set(const struct set *set, int threads, const struct loops *loops)
{
    struct device *dev;
    int taken = 0;

    if (threads != 2 && getenv("TEST_NO_SLOW"))
        return;
    dev = backend_cpu.open(&(const struct device_options){.threads = threads});
    if (loops)
        dev->loops = loops;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct conv_shape s = shape(&sizes[i]);

        taken += check_types(dev, set, &s);
    }
    for (size_t i = 0; set->loops->grouped && i < sizeof(grouped) / sizeof(grouped[0]);
         i++) {
        struct conv_shape s = shape(&grouped[i].size);

        s.groups = grouped[i].groups;
        taken += check_types(dev, set, &s);
    }
    for (uint32_t i = 0; i < MADE_UP; i++) {
        struct conv_shape s = made_up(i);

        if (s.ho > 0 && s.wo > 0)
            taken += check_types(dev, set, &s);
    }
    print_message("%s, %s: %d taken with %d threads\n", set->name, dev->loops->isa, taken,
                  threads);
    if (set->runs(dev))
        assert_true(taken > 0);
    else
        assert_int_equal(taken, 0);
    backend_cpu.close(dev);
}

static void test_amx(void **state)
{
    (void)state;
    check_set(&amx, 2, NULL);
#ifndef TILES_MODEL /* the model is slow */
    check_set(&amx, 1, NULL);
    check_set(&amx, 3, NULL);
#endif
}

static void test_direct(void **state)
{
    (void)state;
    check_set(&direct, 2, NULL);
}

static void test_narrow(void **state)
{
    (void)state;
    check_set(&narrow, 1, NULL);
    check_set(&narrow, 2, NULL);
}

/* Also with the loops of older processors. */
static void check_fp32(const struct set *set)
{
    check_set(set, 1, NULL);
    check_set(set, 2, NULL);
    check_set(set, 7, NULL);
    check_set(set, 2, &loops_base);
#ifdef __x86_64__
    if (loops_best()->lanes >= loops_avx2.lanes)
        check_set(set, 2, &loops_avx2);
#endif
}

static void test_gemm(void **state)
{
    (void)state;
    check_fp32(&gemm);
}

static void test_winograd(void **state)
{
    (void)state;
    check_fp32(&winograd);
}

typedef const char *(*slower_rule)(const struct device *dev, const struct conv_shape *s);

/* Where bf16 is widened to fp32, loops of pairs keep shapes with few channels and fp32. */
static void check_rule(slower_rule rule)
{
    struct conv_shape s = {.type = DTYPE_BF16, .c = 64, .k = 64};

    assert_null(rule(NULL, &s));
    s.widen = true;
    assert_non_null(rule(NULL, &s));
    s.k = 32;
    assert_null(rule(NULL, &s));
    s.k = 64;
    s.type = DTYPE_F32;
    assert_null(rule(NULL, &s));
}

static void test_pairs_slower(void **state)
{
    (void)state;
    check_rule(conv_narrow.slower);
    check_rule(conv_narrow.weight_grad_slower);
    check_rule(conv_direct.slower);
    check_rule(conv_direct.weight_grad_slower);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amx),      cmocka_unit_test(test_direct),
        cmocka_unit_test(test_narrow),   cmocka_unit_test(test_gemm),
        cmocka_unit_test(test_winograd), cmocka_unit_test(test_pairs_slower),
    };

#ifdef TILES_MODEL
    cmocka_set_test_filter("test_amx*");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
