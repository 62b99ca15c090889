/* softmax and its gradient: a thread computes whole rows, in fp32. */
#include "ops/softmax.h"

#include <math.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

static const char *softmax_claim(struct region *r, struct graph *g, struct node *n,
                                 struct device *dev)
{
    (void)g;
    if (n->op != &op_softmax && n->op != &op_softmax_grad)
        return "no softmax";
    for (int i = 0; i < n->nin; i++)
        if (!cpu_dtype(n->in[i]) || n->in[i]->dtype != n->out[0]->dtype)
            return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_workspace(r, (size_t)dev->threads * 2 * sizeof(float) *
                            (size_t)tensor_channels(n->out[0]));
    return NULL;
}

CLONES static void load_row(enum dtype t, const void *x, int64_t pos, int64_t n,
                            float *dst)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = t == DTYPE_F32 ? ((const float *)x)[pos + i]
                                : bf16_to_float(((const uint16_t *)x)[pos + i]);
}

CLONES static void store_row(enum dtype t, const float *src, int64_t n, void *y,
                             int64_t pos)
{
    for (int64_t i = 0; i < n; i++) {
        if (t == DTYPE_F32)
            ((float *)y)[pos + i] = src[i];
        else
            ((uint16_t *)y)[pos + i] = bf16_from_float(src[i]);
    }
}

/* A NaN makes the sum NaN, and so the row. */
static void softmax_row(float *x, int64_t n)
{
    float max = x[0], sum = 0;

    for (int64_t i = 1; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++) {
        x[i] = expf(x[i] - max);
        sum += x[i];
    }
    for (int64_t i = 0; i < n; i++)
        x[i] /= sum;
}

static void grad_row(const float *y, float *dy, int64_t n)
{
    float sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += y[i] * dy[i];
    for (int64_t i = 0; i < n; i++)
        dy[i] = y[i] * (dy[i] - sum);
}

struct job {
    const struct step *s;
    int threads;
};

static void softmax_part(void *arg, int thread)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct tensor *out = s->out_tensor[0];
    int64_t n = tensor_channels(out), lo, hi;
    float *row = (float *)s->workspace + 2 * n * thread;
    bool back = s->node->op == &op_softmax_grad;

    cpu_part(tensor_len(out) / n, 1, thread, j->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        load_row(out->dtype, s->in[0], i * n, n, row);
        if (back) {
            load_row(out->dtype, s->in[SOFTMAX_GRAD_DY], i * n, n, row + n);
            grad_row(row, row + n, n);
        } else {
            softmax_row(row, n);
        }
        store_row(out->dtype, back ? row + n : row, n, s->out[0], i * n);
    }
}

static void softmax_run(struct step *s, struct device *dev)
{
    cpu_parallel(dev, softmax_part, &(struct job){s, dev->threads});
}

const struct kernel cpu_softmax = {
    .name = "cpu softmax",
    .claim = softmax_claim,
    .run = softmax_run,
};
