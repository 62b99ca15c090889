/* moe_dispatch, moe_combine, and moe_gate_grad: a thread moves or multiplies whole rows. */
#include "ops/moe_rows.h"

#include <string.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum { PART = 256 }; /* elements of a row at a time */

struct job {
    const struct step *s;
    enum dtype dtype;
    int64_t channels, top;
    const int32_t *slot, *token;
    const float *gate; /* or NULL */
};

static const char *rows_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    bool dot = n->op == &op_moe_gate_grad;
    const struct tensor *x = n->in[0];

    (void)g, (void)dev;
    if (n->op != &op_moe_dispatch && n->op != &op_moe_combine && !dot)
        return "no rows of experts";
    if (!cpu_dtype(x) || x->dtype != (dot ? n->in[MOE_GATE_GRAD_Y] : n->out[0])->dtype)
        return "fp32 and bf16 only, and one of them for all";
    region_claim_node(r, n);
    return NULL;
}

/* sum += gate * x */
CLONES static void add_part(enum dtype t, const void *x, int64_t first, float gate,
                            int64_t n, float *sum)
{
    for (int64_t i = 0; i < n; i++)
        sum[i] +=
            gate * (t == DTYPE_F32 ? ((const float *)x)[first + i]
                                   : bf16_to_float(((const uint16_t *)x)[first + i]));
}

CLONES static void store_part(enum dtype t, const float *src, int64_t n, void *y,
                              int64_t pos)
{
    for (int64_t i = 0; i < n; i++) {
        if (t == DTYPE_F32)
            ((float *)y)[pos + i] = src[i];
        else
            ((uint16_t *)y)[pos + i] = bf16_from_float(src[i]);
    }
}

/* Writes row i of the result: the sum of `n` rows of x, which `src` lists by slot or -1,
 * times their gates. */
static void sum_rows(const struct job *j, const int32_t *src, const float *gate,
                     int64_t n, int64_t i)
{
    const void *x = j->s->in[MOE_ROWS_X];

    for (int64_t c = 0; c < j->channels; c += PART) {
        int64_t len = j->channels - c < PART ? j->channels - c : PART;
        float sum[PART] = {0};

        for (int64_t k = 0; k < n; k++)
            if (src[k] >= 0)
                add_part(j->dtype, x, src[k] * j->channels + c, gate ? gate[k] : 1, len,
                         sum);
        store_part(j->dtype, sum, len, j->s->out[0], i * j->channels + c);
    }
}

/* Slots [lo, hi). */
static void dispatch_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t i = lo; i < hi; i++) {
        int32_t pos = j->token[i], begin = pos < 0 ? -1 : (int32_t)(pos / j->top);

        sum_rows(j, &begin, pos < 0 || !j->gate ? NULL : j->gate + pos, 1, i);
    }
}

/* Tokens [lo, hi). */
static void combine_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;

    for (int64_t t = lo; t < hi; t++)
        sum_rows(j, j->slot + t * j->top, j->gate ? j->gate + t * j->top : NULL, j->top,
                 t);
}

/* Returns the sum over c of x[c] y[c], from LANES partial sums. */
CLONES static float dot(enum dtype t, const void *x, int64_t at_x, const void *y,
                        int64_t at_y, int64_t n)
{
    enum { LANES = 16 };
    float part[LANES] = {0}, sum = 0;

    for (int64_t i = 0; i < n; i += LANES)
        for (int64_t k = 0; k < LANES && i + k < n; k++) {
            int64_t p = at_x + i + k, q = at_y + i + k;

            part[k] += t == DTYPE_F32 ? ((const float *)x)[p] * ((const float *)y)[q]
                                      : bf16_to_float(((const uint16_t *)x)[p]) *
                                            bf16_to_float(((const uint16_t *)y)[q]);
        }
    for (int k = 0; k < LANES; k++)
        sum += part[k];
    return sum;
}

/* Tokens [lo, hi). */
static void gate_part(void *arg, int64_t lo, int64_t hi)
{
    const struct job *j = arg;
    float *dst = j->s->out[0];

    for (int64_t i = lo * j->top; i < hi * j->top; i++)
        dst[i] = j->slot[i] < 0 ? 0
                                : dot(j->dtype, j->s->in[MOE_GATE_GRAD_DZ],
                                      i / j->top * j->channels, j->s->in[MOE_GATE_GRAD_Y],
                                      j->slot[i] * j->channels, j->channels);
}

static void rows_run(struct step *s, struct device *dev)
{
    const struct op *op = s->node->op;
    bool gates = op == &op_moe_gate_grad;
    int slots = gates ? MOE_GATE_GRAD_SLOT : MOE_ROWS_SLOT;
    const struct tensor *rows = s->in_tensor[gates ? MOE_GATE_GRAD_Y : MOE_ROWS_X];
    struct job j = {.s = s,
                    .dtype = rows->dtype,
                    .channels = rows->dim[rows->ndim - 1],
                    .top = s->in_tensor[slots]->dim[1],
                    .slot = s->in[slots]};
    int64_t tokens = s->in_tensor[slots]->dim[0];

    if (!gates)
        j.token = s->in[MOE_ROWS_TOKEN];
    if (!gates && s->nin > MOE_ROWS_GATE)
        j.gate = s->in[MOE_ROWS_GATE];
    if (op == &op_moe_dispatch)
        cpu_for(dev, tensor_len(s->in_tensor[MOE_ROWS_TOKEN]), 1, dispatch_part, &j);
    else
        cpu_for(dev, tokens, 1, gates ? gate_part : combine_part, &j);
}

const struct kernel cpu_moe_rows = {
    .name = "cpu moe_rows",
    .claim = rows_claim,
    .run = rows_run,
};
