/*
 * SwinV2's table of position biases, and qkv_bias, on the CPU. A table of 225 rows and 3
 * heads costs 0.6 M multiply-accumulates. Its gradient is split by hidden units, so
 * nothing is summed across threads.
 */
#include "ops/cpb_table.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/simd/attention_loops.h"
#include "graph/kernel.h"
#include "ops/qkv_bias.h"

struct job {
    const struct device *dev;
    const struct step *s;
    struct cpb p;
    float *coordinate, *w0; /* the same memory, writable */
};

static int64_t rows_of(const struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;

    return (2 * (int64_t)a->window_h - 1) * (2 * (int64_t)a->window_w - 1);
}

static bool is_raw(const struct node *n)
{
    return ((const struct cpb_table_attrs *)n->attrs)->raw;
}

static int64_t align16(int64_t n)
{
    return (n + 15) / 16 * 16;
}

static const char *cpb_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    const struct cpb_table_attrs *a = n->attrs;
    int64_t rows;

    (void)g, (void)dev;
    if (n->op != &op_cpb_table && n->op != &op_cpb_table_grad)
        return "no table of position biases";
    rows = rows_of(n);
    region_claim_node(r, n);
    region_workspace(r, (size_t)(align16(2 * rows) + 2 * CPB_HIDDEN +
                                 align16(rows * a->heads) +
                                 CPB_HIDDEN * (3 + (int64_t)a->heads)) *
                            sizeof(float));
    return NULL;
}

/* Separates the weights, and computes the coordinates of all rows. */
static void cpb_begin(const struct job *j)
{
    const float *w0 = j->s->in[CPB_TABLE_W0];

    for (int k = 0; k < CPB_HIDDEN; k++) {
        j->w0[k] = w0[2 * k];
        j->w0[CPB_HIDDEN + k] = w0[2 * k + 1];
    }
    for (int64_t r = 0; r < j->p.rows; r++)
        cpb_coordinates(j->s->node->attrs, (int)r, j->coordinate + 2 * r);
}

static void forward_thread(void *arg, int thread)
{
    const struct job *j = arg;
    float *table = j->s->out[0];
    bool raw = is_raw(j->s->node);
    int64_t lo, hi;

    if (thread == 0)
        cpb_begin(j);
    cpu_barrier();
    cpu_part(j->p.rows, 1, thread, j->dev->threads, &lo, &hi);
    j->dev->loops->attention->cpb(&j->p, lo, hi);
    for (int64_t i = lo * j->p.heads; i < hi * j->p.heads; i++)
        table[i] = raw ? j->p.z[i] : CPB_SCALE / (1 + expf(-j->p.z[i]));
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const float *table = j->s->in[CPB_TABLE_GRAD_TABLE];
    const float *d = j->s->in[CPB_TABLE_GRAD_DTABLE];
    bool raw = is_raw(j->s->node);
    int64_t lo, hi;

    if (thread == 0)
        cpb_begin(j);
    cpu_part(j->p.rows * j->p.heads, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++)
        j->p.z[i] = raw ? d[i] : d[i] * table[i] * (1 - table[i] / CPB_SCALE);
    cpu_barrier();
    cpu_part(CPB_HIDDEN, 16, thread, j->dev->threads, &lo, &hi);
    j->dev->loops->attention->cpb_grad(&j->p, (int)lo, (int)hi);
}

static void cpb_run(struct step *s, struct device *dev)
{
    const struct cpb_table_attrs *a = s->node->attrs;
    bool grad = s->node->op == &op_cpb_table_grad;
    float *ptr = s->workspace, *spare[CPB_TABLE_GRAD_OUT];
    struct job j = {.dev = dev, .s = s};

    j.coordinate = ptr;
    j.w0 = ptr + align16(2 * rows_of(s->node));
    ptr = j.w0 + 2 * CPB_HIDDEN;
    j.p = (struct cpb){.rows = rows_of(s->node),
                       .hidden = CPB_HIDDEN,
                       .heads = a->heads,
                       .coordinate = j.coordinate,
                       .w0 = j.w0,
                       .b0 = s->in[CPB_TABLE_B0],
                       .w2 = s->in[CPB_TABLE_W2],
                       .z = ptr};
    ptr += align16(j.p.rows * a->heads);
    spare[CPB_TABLE_GRAD_DW0] = ptr;
    spare[CPB_TABLE_GRAD_DB0] = ptr + 2 * CPB_HIDDEN;
    spare[CPB_TABLE_GRAD_DW2] = ptr + 3 * CPB_HIDDEN;
    for (int i = 0; grad && i < CPB_TABLE_GRAD_OUT; i++)
        if (s->out[i])
            spare[i] = s->out[i];
    j.p.dw0 = spare[CPB_TABLE_GRAD_DW0];
    j.p.db0 = spare[CPB_TABLE_GRAD_DB0];
    j.p.dw2 = spare[CPB_TABLE_GRAD_DW2];
    cpu_parallel(dev, grad ? grad_thread : forward_thread, &j);
}

const struct kernel cpu_cpb_table = {
    .name = "cpu cpb_table",
    .claim = cpb_claim,
    .run = cpb_run,
};

/* ---- qkv_bias ---- */

static const char *qkv_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    (void)g, (void)dev;
    if (n->op != &op_qkv_bias && n->op != &op_qkv_bias_grad)
        return "no bias of a qkv layer";
    region_claim_node(r, n);
    return NULL;
}

static void qkv_run(struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_qkv_bias_grad;
    size_t size = tensor_size(grad ? s->in_tensor[0] : s->out_tensor[0]) / 3;

    (void)dev;
    for (int i = 0; i < 2; i++) { /* q and v */
        size_t pos = i ? 2 * size : 0;

        if (grad && s->out[i])
            memcpy(s->out[i], (const char *)s->in[QKV_BIAS_GRAD_D] + pos, size);
        else if (!grad)
            memcpy((char *)s->out[0] + pos, s->in[i], size);
    }
    if (!grad)
        memset((char *)s->out[0] + size, 0, size);
}

const struct kernel cpu_qkv_bias = {
    .name = "cpu qkv_bias",
    .claim = qkv_claim,
    .run = qkv_run,
};
