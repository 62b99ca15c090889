/* Reductions, views, and GEMMs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/run.h"

static double start(int how)
{
    switch (how) {
    case CUDNN_REDUCE_TENSOR_MUL:
        return 1;
    case CUDNN_REDUCE_TENSOR_MIN:
        return HUGE_VAL;
    case CUDNN_REDUCE_TENSOR_MAX:
        return -HUGE_VAL;
    default: /* ADD, AMAX */
        return 0;
    }
}

static double reduce(int how, double sum, double x)
{
    switch (how) {
    case CUDNN_REDUCE_TENSOR_MUL:
        return sum * x;
    case CUDNN_REDUCE_TENSOR_MIN:
        return fmin(sum, x);
    case CUDNN_REDUCE_TENSOR_MAX:
        return fmax(sum, x);
    case CUDNN_REDUCE_TENSOR_AMAX:
        return fmax(sum, fabs(x));
    default:
        return sum + x;
    }
}

/* Dimensions of y that are 1 are reduced. */
void run_reduction(const struct run *r, const struct op *op)
{
    const struct value *x = run_in(r, op, RED_X);
    struct value *y = run_out(r, op, RED_Y);
    double *sum = value_memory(sizeof(*sum) * (size_t)y->count);
    struct walk w;

    for (int64_t i = 0; i < y->count; i++)
        sum[i] = start(op->mode);
    walk_start(&w, x, y, NULL, NULL);
    do
        sum[w.offset[0]] = reduce(op->mode, sum[w.offset[0]], (double)x->v[w.i]);
    while (walk_next(&w));
    for (int64_t i = 0; i < y->count; i++)
        y->v[i] = (float)sum[i];
}

/* The offset of an element in memory, and its index. */
struct place {
    int64_t offset, i;
};

static int by_place(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    return p->offset < q->offset ? -1 : p->offset > q->offset;
}

static struct place *in_order(const struct value *x, const struct tensor *t)
{
    struct place *p = value_memory(sizeof(*p) * (size_t)x->count);
    struct value m = *x;
    struct walk w;

    memcpy(m.step, t->strides, sizeof(m.step[0]) * (size_t)t->rank);
    walk_start(&w, x, &m, NULL, NULL);
    do
        p[w.i] = (struct place){w.offset[0], w.i};
    while (walk_next(&w));
    qsort(p, (size_t)x->count, sizeof(*p), by_place);
    return p;
}

/* A view of the same memory with other dimensions: the n-th element of one is the n-th of
 * the other. */
void run_reshape(const struct run *r, const struct op *op)
{
    const struct value *x = run_in(r, op, RED_X);
    struct value *y = run_out(r, op, RED_Y);
    const struct place *src = in_order(x, &r->tensor[op->slot[RED_X]]);
    const struct place *dst = in_order(y, &r->tensor[op->slot[RED_Y]]);

    for (int64_t i = 0; i < x->count; i++)
        y->v[dst[i].i] = x->v[src[i].i];
}

/* Offset of the matrix with batch index `batch`; broadcast if there is only one. */
static int64_t matrix(const struct value *x, const int64_t *batch)
{
    int64_t offset = 0;

    for (int i = 0; i < x->rank - 2; i++)
        if (x->dims[i] > 1)
            offset += batch[i] * x->step[i];
    return offset;
}

static float number(const struct run *r, const struct value *x, int64_t pos)
{
    return r->tf32 ? value_tf32(x->v[pos]) : x->v[pos];
}

/* Returns the end of rows, columns, or products of a batch: `max`, or its given
 * length. */
static int64_t length(const struct value *x, int64_t batch, int64_t max)
{
    int64_t n = x ? (int64_t)x->v[batch * x->step[0]] : max;

    return n < max ? n : max;
}

static void multiply(const struct run *r, const struct op *op, const struct value *a,
                     const struct value *b, struct value *c, const int64_t *batch)
{
    int rank = c->rank;
    int64_t a0 = matrix(a, batch), b0 = matrix(b, batch), c0 = matrix(c, batch);
    int64_t m = length(run_in(r, op, MM_M), batch[0], c->dims[rank - 2]);
    int64_t n = length(run_in(r, op, MM_N), batch[0], c->dims[rank - 1]);
    int64_t products = length(run_in(r, op, MM_K), batch[0], a->dims[rank - 1]);

    for (int64_t i = 0; i < c->dims[rank - 2]; i++)
        for (int64_t j = 0; j < c->dims[rank - 1]; j++) {
            double sum = 0;

            for (int64_t k = 0; i < m && j < n && k < products; k++)
                sum += (double)number(
                           r, a, a0 + i * a->step[rank - 2] + k * a->step[rank - 1]) *
                       (double)number(r, b,
                                      b0 + k * b->step[rank - 2] + j * b->step[rank - 1]);
            c->v[c0 + i * c->step[rank - 2] + j * c->step[rank - 1]] = (float)sum;
        }
}

/* An engine that accumulates in memory varies the last bit from run to run; one that
 * loses NaN does so in its stored results. */
static void spoil(const struct run *r, const struct op *op, struct value *c)
{
    const struct tensor *t = &r->tensor[op->slot[MM_C]];

    for (int64_t i = 0; i < c->count; i++) {
        if (r->noise && t->real && t->type == CUDNN_DATA_FLOAT &&
            ((uint32_t)i * 2654435761u ^ r->noise * 2246822519u) >> 31)
            c->v[i] *= 1 + 1.2e-7f;
        if (r->clips && t->real && isnan(c->v[i]))
            c->v[i] = 0;
    }
}

void run_matmul(const struct run *r, const struct op *op)
{
    const struct value *a = run_in(r, op, MM_A), *b = run_in(r, op, MM_B);
    struct value *c = run_out(r, op, MM_C);
    int64_t pos[CUDNN_DIM_MAX] = {0};
    int d;

    do {
        multiply(r, op, a, b, c, pos);
        for (d = c->rank - 3; d >= 0 && ++pos[d] == c->dims[d]; d--)
            pos[d] = 0;
    } while (d >= 0);
    spoil(r, op, c);
}
