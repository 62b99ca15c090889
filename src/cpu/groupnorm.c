/*
 * groupnorm and its gradient. A thread computes whole images: sums of channels over the
 * pixels, of which those of a group are added. Sums are fp32 over BLOCK pixels, added up in
 * double.
 */
#include "ops/groupnorm.h"

#include <math.h>
#include <string.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum { BLOCK = 64 }; /* pixels */

static bool is_groupnorm(const struct node *n)
{
    return n->op == &op_groupnorm || n->op == &op_groupnorm_grad;
}

/* Values per channel of a thread: double sums[4], float part[2] and table[4]. */
enum { SUMS = 4, PARTS = 2, TABLES = 4 };

static size_t thread_bytes(int64_t channels)
{
    size_t bytes =
        (size_t)channels * (SUMS * sizeof(double) + (PARTS + TABLES) * sizeof(float));

    return (bytes + 63) / 64 * 64;
}

static const char *groupnorm_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    (void)g;
    if (!is_groupnorm(n))
        return "no groupnorm";
    if (!cpu_dtype(n->in[0]) || n->in[0]->dtype != n->out[0]->dtype ||
        (n->op == &op_groupnorm_grad &&
         n->in[GROUPNORM_GRAD_DY]->dtype != n->out[0]->dtype))
        return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_workspace(r, (size_t)dev->threads * thread_bytes(tensor_channels(n->in[0])));
    return NULL;
}

/* The pixels of an image, and what a thread has for its channels. */
struct image {
    enum dtype t;
    int64_t pixels, channels, each; /* each: channels of a group */
    const void *x, *dy;
    void *y; /* or dx */
    double *sum, *dot;
    double *dweight, *dbias; /* over the images of the thread */
    float *part[PARTS];
    float *mean, *rstd, *scale, *shift;
};

static inline float load(enum dtype t, const void *x, int64_t i)
{
    return t == DTYPE_F32 ? ((const float *)x)[i]
                          : bf16_to_float(((const uint16_t *)x)[i]);
}

static inline void store(enum dtype t, void *y, int64_t i, float v)
{
    if (t == DTYPE_F32)
        ((float *)y)[i] = v;
    else
        ((uint16_t *)y)[i] = bf16_from_float(v);
}

/* What is summed of a pixel's channel: x; (x - mean)^2; dy and dy xhat. */
enum what { VALUES, SQUARES, GRADIENTS };

static inline void add_pixels(enum dtype t, enum what what, const struct image *m,
                              int64_t lo, int64_t hi, float *restrict a,
                              float *restrict b)
{
    const float *restrict mean = m->mean, *restrict rstd = m->rstd;

    for (int64_t p = lo; p < hi; p++)
        for (int64_t c = 0; c < m->channels; c++) {
            int64_t i = p * m->channels + c;
            float x = load(t, m->x, i);

            if (what == VALUES) {
                a[c] += x;
            } else if (what == SQUARES) {
                a[c] += (x - mean[c]) * (x - mean[c]);
            } else {
                float d = load(t, m->dy, i);

                a[c] += d;
                b[c] += d * ((x - mean[c]) * rstd[c]);
            }
        }
}

CLONES static void add_block(enum what what, const struct image *m, int64_t lo,
                             int64_t hi)
{
    bool f32 = m->t == DTYPE_F32;

    if (what == VALUES && f32)
        add_pixels(DTYPE_F32, VALUES, m, lo, hi, m->part[0], m->part[1]);
    else if (what == VALUES)
        add_pixels(DTYPE_BF16, VALUES, m, lo, hi, m->part[0], m->part[1]);
    else if (what == SQUARES && f32)
        add_pixels(DTYPE_F32, SQUARES, m, lo, hi, m->part[0], m->part[1]);
    else if (what == SQUARES)
        add_pixels(DTYPE_BF16, SQUARES, m, lo, hi, m->part[0], m->part[1]);
    else if (f32)
        add_pixels(DTYPE_F32, GRADIENTS, m, lo, hi, m->part[0], m->part[1]);
    else
        add_pixels(DTYPE_BF16, GRADIENTS, m, lo, hi, m->part[0], m->part[1]);
}

/* Sets m->sum and, for GRADIENTS, m->dot. */
static void sum_channels(enum what what, const struct image *m)
{
    memset(m->sum, 0, (size_t)m->channels * sizeof(double));
    memset(m->dot, 0, (size_t)m->channels * sizeof(double));
    for (int64_t lo = 0; lo < m->pixels; lo += BLOCK) {
        memset(m->part[0], 0, (size_t)m->channels * sizeof(float));
        memset(m->part[1], 0, (size_t)m->channels * sizeof(float));
        add_block(what, m, lo, lo + BLOCK < m->pixels ? lo + BLOCK : m->pixels);
        for (int64_t c = 0; c < m->channels; c++) {
            m->sum[c] += (double)m->part[0][c];
            m->dot[c] += (double)m->part[1][c];
        }
    }
}

/* Returns the mean of group g, given sums of its channels. */
static double group_mean(const struct image *m, const double *sum, int64_t g)
{
    double all = 0;

    for (int64_t c = g * m->each; c < (g + 1) * m->each; c++)
        all += sum[c];
    return all / (double)(m->pixels * m->each);
}

static void fill_group(const struct image *m, float *table, int64_t g, double value)
{
    for (int64_t c = g * m->each; c < (g + 1) * m->each; c++)
        table[c] = (float)value;
}

/* y = (x - mean) scale + shift [+ dy rstd] */
static inline void apply_typed(enum dtype t, bool gradient, const struct image *m)
{
    const float *restrict mean = m->mean, *restrict scale = m->scale;
    const float *restrict shift = m->shift, *restrict rstd = m->rstd;

    for (int64_t p = 0; p < m->pixels; p++)
        for (int64_t c = 0; c < m->channels; c++) {
            int64_t i = p * m->channels + c;
            float v = (load(t, m->x, i) - mean[c]) * scale[c] + shift[c];

            store(t, m->y, i, gradient ? v + load(t, m->dy, i) * rstd[c] : v);
        }
}

CLONES static void apply(bool gradient, const struct image *m)
{
    if (m->t == DTYPE_F32 && gradient)
        apply_typed(DTYPE_F32, true, m);
    else if (m->t == DTYPE_F32)
        apply_typed(DTYPE_F32, false, m);
    else if (gradient)
        apply_typed(DTYPE_BF16, true, m);
    else
        apply_typed(DTYPE_BF16, false, m);
}

static void forward(const struct step *s, const struct image *m, int64_t n)
{
    const struct groupnorm_attrs *a = s->node->attrs;
    const float *weight = s->in[GROUPNORM_WEIGHT], *bias = s->in[GROUPNORM_BIAS];
    float *mean = s->out[GROUPNORM_MEAN], *rstd = s->out[GROUPNORM_RSTD]; /* or NULL */

    sum_channels(VALUES, m);
    for (int64_t g = 0; g < a->groups; g++) {
        double value = group_mean(m, m->sum, g);

        fill_group(m, m->mean, g, value);
        if (mean)
            mean[n * a->groups + g] = (float)value;
    }
    sum_channels(SQUARES, m);
    for (int64_t g = 0; g < a->groups; g++) {
        double value = 1 / sqrt(group_mean(m, m->sum, g) + (double)a->eps);

        fill_group(m, m->rstd, g, value);
        if (rstd)
            rstd[n * a->groups + g] = (float)value;
    }
    for (int64_t c = 0; c < m->channels; c++) {
        m->scale[c] = m->rstd[c] * weight[c];
        m->shift[c] = bias[c];
    }
    apply(false, m);
}

/* dx = rstd weight dy - rstd (mean of g) - rstd xhat (mean of g xhat), with g = weight dy */
static void backward(const struct step *s, const struct image *m, int64_t n)
{
    const struct groupnorm_attrs *a = s->node->attrs;
    const float *weight = s->in[GROUPNORM_GRAD_WEIGHT];
    const float *mean = (const float *)s->in[GROUPNORM_GRAD_MEAN] + n * a->groups;
    const float *rstd = (const float *)s->in[GROUPNORM_GRAD_RSTD] + n * a->groups;

    for (int64_t g = 0; g < a->groups; g++) {
        fill_group(m, m->mean, g, (double)mean[g]);
        fill_group(m, m->rstd, g, (double)rstd[g]);
    }
    sum_channels(GRADIENTS, m);
    for (int64_t c = 0; c < m->channels; c++) {
        m->dbias[c] += m->sum[c];
        m->dweight[c] += m->dot[c];
        m->sum[c] *= (double)weight[c];
        m->dot[c] *= (double)weight[c];
    }
    if (!m->y)
        return;
    for (int64_t g = 0; g < a->groups; g++) {
        double r = (double)rstd[g];

        fill_group(m, m->scale, g, -r * r * group_mean(m, m->dot, g));
        fill_group(m, m->shift, g, -r * group_mean(m, m->sum, g));
    }
    for (int64_t c = 0; c < m->channels; c++)
        m->rstd[c] *= weight[c];
    apply(true, m);
}

struct job {
    struct step *s;
    const struct device *dev;
};

static struct image image_of(const struct job *j, int thread)
{
    const struct groupnorm_attrs *a = j->s->node->attrs;
    const struct tensor *x = j->s->in_tensor[0];
    int64_t c = x->dim[IMAGE_C];
    char *cursor = (char *)j->s->workspace + (size_t)thread * thread_bytes(c);
    double *sums = (double *)(void *)cursor;
    float *floats = (float *)(void *)(sums + SUMS * c);

    return (struct image){
        .t = x->dtype,
        .pixels = x->dim[IMAGE_H] * x->dim[IMAGE_W],
        .channels = c,
        .each = c / a->groups,
        .sum = sums,
        .dot = sums + c,
        .dweight = sums + 2 * c,
        .dbias = sums + 3 * c,
        .part = {floats, floats + c},
        .mean = floats + 2 * c,
        .rstd = floats + 3 * c,
        .scale = floats + 4 * c,
        .shift = floats + 5 * c,
    };
}

/* Adds the sums of all threads, in their order. */
static void total(const struct job *j, int thread)
{
    int64_t channels = j->s->in_tensor[0]->dim[IMAGE_C], lo, hi;
    float *dst[] = {j->s->out[GROUPNORM_GRAD_DWEIGHT], j->s->out[GROUPNORM_GRAD_DBIAS]};

    cpu_part(channels, 16, thread, j->dev->threads, &lo, &hi);
    for (int64_t c = lo; c < hi; c++) {
        double sum[2] = {0, 0};

        for (int i = 0; i < j->dev->threads; i++) {
            struct image m = image_of(j, i);

            sum[0] += m.dweight[c];
            sum[1] += m.dbias[c];
        }
        for (int k = 0; k < 2; k++)
            if (dst[k])
                dst[k][c] = (float)sum[k];
    }
}

static void groupnorm_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct tensor *x = j->s->in_tensor[0];
    bool grad = j->s->node->op == &op_groupnorm_grad;
    struct image m = image_of(j, thread);
    int64_t lo, hi, len = m.pixels * m.channels;

    memset(m.dweight, 0, (size_t)m.channels * 2 * sizeof(double));
    cpu_part(x->dim[IMAGE_N], 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t n = lo; n < hi; n++) {
        m.x = cpu_at(j->s->in[0], m.t, n * len);
        m.y = cpu_out(j->s->out[0], m.t, n * len);
        m.dy = grad ? cpu_at(j->s->in[GROUPNORM_GRAD_DY], m.t, n * len) : NULL;
        if (grad)
            backward(j->s, &m, n);
        else
            forward(j->s, &m, n);
    }
    if (!grad)
        return;
    cpu_barrier();
    total(j, thread);
}

static void groupnorm_run(struct step *s, struct device *dev)
{
    struct job j = {s, dev};

    cpu_parallel(dev, groupnorm_thread, &j);
}

const struct kernel cpu_groupnorm = {
    .name = "cpu groupnorm",
    .claim = groupnorm_claim,
    .run = groupnorm_run,
};
