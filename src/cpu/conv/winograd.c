/* Forward and data gradient, and their weights. */
#include "cpu/conv/winograd.h"

enum {
    UNIT = GEMM_RIGHT, /* channels that the loops process at a time */
    PANEL = GEMM_PANEL,
};

static bool axis_can(int kernel, int stride, int pad, int dilation)
{
    return stride == 1 && (kernel == 3 ? pad == dilation : kernel == 1 && pad == 0);
}

static const char *winograd_can(const struct device *dev, const struct conv_shape *s)
{
    bool line = s->kernel_h != s->kernel_w;
    int least = line ? 4 * UNIT : 2 * UNIT; /* below this, the transforms cost too much */

    if (dev->loops->lanes < 8)
        return "no AVX2";
    if (s->type != DTYPE_F32 && !(s->type == DTYPE_BF16 && s->widen))
        return "bf16 only where it is widened to fp32";
    if (!axis_can(s->kernel_h, s->stride_h, s->pad_h, s->dilation_h) ||
        !axis_can(s->kernel_w, s->stride_w, s->pad_w, s->dilation_w) ||
        s->kernel_h * s->kernel_w == 1)
        return "kernels of 3 that keep height and width only";
    if (s->kernel_h == s->kernel_w && s->dilation_h * s->dilation_w > 1)
        return "3 x 3 without dilation only";
    if (s->c % UNIT || s->k % UNIT || s->c < least || s->k < least)
        return "multiples of 16 channels from 32 on only, of lines from 64 on";
    if (line && s->kernel_h > 1 && 4 * s->dilation_h > s->h)
        return "many of the taps are outside of the image";
    return NULL;
}

/* ---- weights: [plane][out / 32][in][32] ---- */

static size_t winograd_packed(const struct conv_shape *s)
{
    size_t forward = (size_t)s->c * (size_t)round_up(s->k, PANEL);
    size_t back = (size_t)s->k * (size_t)round_up(s->c, PANEL);

    return (size_t)winograd_tiles(s, 1).planes * (forward > back ? forward : back) *
           sizeof(float);
}

struct pack_job {
    const struct device *dev;
    const float *w;
    float *packed;
    int in, out, c; /* c: of w */
    int planes, taps;
    bool backward;
};

/* Packs 16 inputs of 32 outputs, or 16. Backward: in and out swapped, taps rotated by 180
 * degrees. */
static void pack_unit(const struct pack_job *j, int in, int out)
{
    float tap[WINOGRAD_TAPS][UNIT * PANEL] __attribute__((aligned(64))) = {{0}};
    ptrdiff_t row = (ptrdiff_t)j->taps * j->c;
    ptrdiff_t plane = (ptrdiff_t)j->in * round_up(j->out, PANEL);
    const void *src[WINOGRAD_TAPS];
    void *dst[WINOGRAD_PLANES];

    for (int t = 0; t < j->taps; t++) {
        const float *w = j->backward ? j->w + in * row + (j->taps - 1 - t) * j->c + out
                                     : j->w + out * row + t * j->c + in;

        j->dev->loops->conv.gemm_pack(w, row, UNIT, min_int(j->out - out, PANEL),
                                      !j->backward, GEMM_FLOATS, tap[t]);
        src[t] = tap[t];
    }
    for (int p = 0; p < j->planes; p++)
        dst[p] = j->packed + p * plane + (ptrdiff_t)out * j->in + (ptrdiff_t)in * PANEL;
    j->dev->loops->conv.winograd(WINOGRAD_W, &(const struct winograd_values){
                                                 .line = j->planes < WINOGRAD_PLANES,
                                                 .n = (int64_t)UNIT * PANEL,
                                                 .src = src,
                                                 .dst = dst,
                                             });
}

static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_job *j = arg;
    int each = j->in / UNIT; /* units per panel */

    for (int64_t i = lo; i < hi; i++)
        pack_unit(j, (int)(i % each) * UNIT, (int)(i / each) * PANEL);
}

static void winograd_pack(const struct device *dev, const struct conv_shape *s,
                          void *packed, const float *w, bool backward)
{
    struct pack_job j = {
        .dev = dev,
        .w = w,
        .packed = packed,
        .in = backward ? s->k : s->c,
        .out = backward ? s->c : s->k,
        .c = s->c,
        .planes = winograd_tiles(s, 1).planes,
        .taps = s->kernel_h * s->kernel_w,
        .backward = backward,
    };

    cpu_for(dev, (int64_t)(j.in / UNIT) * (round_up(j.out, PANEL) / PANEL), 1, pack_part,
            &j);
}

/* ---- forward and data gradient ---- */

struct forward_job {
    const struct device *dev;
    const struct conv_shape *s;
    const struct conv_args *a;
    struct winograd_tiles w;
};

/* Planes of a block: [tile][channel] */
static struct winograd_planes row_planes(const struct winograd_tiles *w, int channels,
                                         float *ptr)
{
    int64_t next = odd_lines(channels);

    return (struct winograd_planes){ptr, w->block * next + UNIT, GEMM_RIGHT, next};
}

static size_t thread_floats(const struct conv_shape *s, const struct winograd_tiles *w)
{
    return (size_t)(w->planes *
                    (row_planes(w, s->c, NULL).plane + row_planes(w, s->k, NULL).plane));
}

static void multiply(const struct forward_job *j, int64_t lo, int n,
                     const struct winograd_planes *x, const struct winograd_planes *y)
{
    const struct conv_shape *s = j->s;
    void *rows[WINOGRAD_MAX];

    for (int p = 0; p < j->w.planes; p++) {
        for (int i = 0; i < n; i++)
            rows[i] = y->data + p * y->plane + i * y->next;
        j->dev->loops->conv.gemm_rows(&(const struct gemm_rows){
            .rows = n,
            .cols = s->k,
            .depth = s->c,
            .a_row = x->next,
            .b_panel = (int64_t)s->c * PANEL,
            .a = x->data + p * x->plane,
            .b = (const float *)j->a->packed + (int64_t)p * s->c * round_up(s->k, PANEL),
            .y = rows,
            .prefetch = {winograd_prefetch(s, &j->w, j->a->src, s->c, lo + n, n, p),
                         winograd_prefetch(s, &j->w, j->a->dst, s->k, lo, n, p)},
        });
    }
}

static void forward_thread(void *arg, int thread)
{
    const struct forward_job *j = arg;
    const struct conv_shape *s = j->s;
    float *scratch = (float *)j->a->scratch + (size_t)thread * thread_floats(s, &j->w);
    struct winograd_planes x = row_planes(&j->w, s->c, scratch);
    struct winograd_planes y = row_planes(&j->w, s->k, scratch + j->w.planes * x.plane);
    int64_t lo, hi;

    cpu_part(j->w.total, 1, thread, j->dev->threads, &lo, &hi);
    for (; lo < hi; lo += j->w.block) {
        int n = min_int(hi - lo, j->w.block);

        winograd_block(j->dev, WINOGRAD_X, s, &j->w, j->a->src, s->c, s->c, lo, n, &x);
        multiply(j, lo, n, &x, &y);
        winograd_results(j->dev, s, &j->w, j->a, lo, n, &y);
    }
}

static size_t winograd_forward_scratch(const struct conv_shape *s, int threads)
{
    struct winograd_tiles w = winograd_tiles(s, threads);

    return thread_floats(s, &w) * (size_t)threads * sizeof(float);
}

static void winograd_forward(const struct device *dev, const struct conv_shape *s,
                             const struct conv_args *a)
{
    struct forward_job j = {dev, s, a, winograd_tiles(s, dev->threads)};

    cpu_parallel(dev, forward_thread, &j);
}

static size_t winograd_data_grad_scratch(const struct conv_shape *s, int threads)
{
    struct conv_shape back = conv_rotated(s);

    return winograd_forward_scratch(&back, threads);
}

static void winograd_data_grad(const struct device *dev, const struct conv_shape *s,
                               const struct conv_args *a)
{
    struct conv_shape back = conv_rotated(s);

    winograd_forward(dev, &back, a);
}

const struct conv_loops conv_winograd = {
    .name = "winograd",
    .chains = CONV_CHAINS_ALL,
    .rounds_zeros = true,
    .forward_can = winograd_can,
    .data_grad_can = winograd_can,
    .weight_grad_can = winograd_can,
    .packed = winograd_packed,
    .pack = winograd_pack,
    .forward_scratch = winograd_forward_scratch,
    .data_grad_scratch = winograd_data_grad_scratch,
    .weight_grad_scratch = winograd_weight_grad_scratch,
    .forward = winograd_forward,
    .data_grad = winograd_data_grad,
    .weight_grad = winograd_weight_grad,
};
