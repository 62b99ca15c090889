/* softmax and its gradient: a thread computes whole rows, in fp32. */
#include "ops/softmax.h"

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"
#include "ops/expr.h"
#include "ops/image.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum { LANES = 16 };

/* Floats between two rows: the loops read whole vectors. */
static int64_t room(int64_t n)
{
    return (n + LANES - 1) / LANES * LANES;
}

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
                            (size_t)room(tensor_channels(n->out[0])));
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

/* Returns the largest element, or one of them if there is a NaN. */
CLONES static float row_max(const float *x, int64_t n)
{
    float max[LANES];
    int64_t i = 0;

    for (int k = 0; k < LANES; k++)
        max[k] = x[0];
    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            max[k] = x[i + k] > max[k] ? x[i + k] : max[k];
    for (; i < n; i++)
        max[0] = x[i] > max[0] ? x[i] : max[0];
    for (int k = 1; k < LANES; k++)
        max[0] = max[k] > max[0] ? max[k] : max[0];
    return max[0];
}

/* The sum of x, or of x y. */
CLONES static float row_sum(const float *x, const float *y, int64_t n)
{
    float sum[LANES] = {0}, all = 0;
    int64_t i = 0;

    for (; i + LANES <= n; i += LANES)
        for (int k = 0; k < LANES; k++)
            sum[k] += y ? x[i + k] * y[i + k] : x[i + k];
    for (int k = 0; k < LANES; k++)
        all += sum[k];
    for (; i < n; i++)
        all += y ? x[i] * y[i] : x[i];
    return all;
}

/* A NaN makes the sum NaN, and so the row. */
CLONES static void softmax_row(const struct device *dev, float *x, int64_t n)
{
    float max = row_max(x, n), sum;

    for (int64_t i = 0; i < n; i++)
        x[i] -= max;
    dev->loops->expr(DTYPE_F32, EXPR_EXP, x, x, x, 0, x, n);
    sum = row_sum(x, NULL, n);
    for (int64_t i = 0; i < n; i++)
        x[i] /= sum;
}

CLONES static void grad_row(const float *y, float *dy, int64_t n)
{
    float sum = row_sum(y, dy, n);

    for (int64_t i = 0; i < n; i++)
        dy[i] = y[i] * (dy[i] - sum);
}

struct job {
    const struct step *s;
    const struct device *dev;
};

static void softmax_part(void *arg, int thread)
{
    const struct job *j = arg;
    const struct step *s = j->s;
    const struct tensor *out = s->out_tensor[0];
    int64_t n = tensor_channels(out), lo, hi;
    float *row = (float *)s->workspace + 2 * room(n) * thread, *dy = row + room(n);
    bool back = s->node->op == &op_softmax_grad;

    cpu_part(tensor_len(out) / n, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        load_row(out->dtype, s->in[0], i * n, n, row);
        if (back) {
            load_row(out->dtype, s->in[SOFTMAX_GRAD_DY], i * n, n, dy);
            grad_row(row, dy, n);
        } else {
            softmax_row(j->dev, row, n);
        }
        store_row(out->dtype, back ? dy : row, n, s->out[0], i * n);
    }
}

static void softmax_run(struct step *s, struct device *dev)
{
    cpu_parallel(dev, softmax_part, &(struct job){s, dev});
}

const struct kernel cpu_softmax = {
    .name = "cpu softmax",
    .claim = softmax_claim,
    .run = softmax_run,
};
