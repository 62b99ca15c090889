/*
 * matmul: a task is some rows of the product of one matrix of the batch. It packs b as fp32
 * rows, and multiplies ROWS rows of a at once.
 */
#include "ops/matmul.h"

#include <string.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum { ROWS = 4, TASK_ROWS = 64, COLUMNS = 256 };

/* Floats of a thread: b as [sums][COLUMNS], ROWS rows of a, and of y. */
static size_t thread_floats(const struct matmul_attrs *a)
{
    int64_t columns = a->columns < COLUMNS ? a->columns : COLUMNS;

    return (size_t)(a->sums * columns + ROWS * (a->sums + columns) + 15) / 16 * 16;
}

static const char *matmul_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)g;
    if (n->op != &op_matmul)
        return "no matmul";
    for (int i = 0; i < n->nin; i++)
        if (!cpu_dtype(n->in[i]) || n->in[i]->dtype != n->out[0]->dtype)
            return "fp32 and bf16 only, and one of them for all";

    region_claim_node(r, n);
    region_workspace(r, (size_t)dev->threads * sizeof(float) * thread_floats(n->attrs));
    return NULL;
}

/* Copies n elements that are `step` apart. */
CLONES static void load(enum dtype t, const void *x, int64_t pos, int64_t step, int64_t n,
                        float *dst)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = t == DTYPE_F32 ? ((const float *)x)[pos + i * step]
                                : bf16_to_float(((const uint16_t *)x)[pos + i * step]);
}

CLONES static void store(enum dtype t, const float *src, float alpha, int64_t n, void *y,
                         int64_t pos, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        if (t == DTYPE_F32)
            ((float *)y)[pos + i * step] = alpha * src[i];
        else
            ((uint16_t *)y)[pos + i * step] = bf16_from_float(alpha * src[i]);
    }
}

/* y [ROWS][n] = a [ROWS][sums] b [sums][n] */
CLONES static void multiply(const float *a, const float *b, float *y, int64_t sums,
                            int64_t n)
{
    float *y1 = y + n, *y2 = y + 2 * n, *y3 = y + 3 * n;
    const float *a1 = a + sums, *a2 = a + 2 * sums, *a3 = a + 3 * sums;

    memset(y, 0, (size_t)(ROWS * n) * sizeof(*y));
    for (int64_t l = 0; l < sums; l++)
        for (int64_t j = 0; j < n; j++) {
            y[j] += a[l] * b[l * n + j];
            y1[j] += a1[l] * b[l * n + j];
            y2[j] += a2[l] * b[l * n + j];
            y3[j] += a3[l] * b[l * n + j];
        }
}

struct job {
    const struct step *s;
    int threads;
};

/* Rows [lo, hi) of the product of one matrix, and columns [first, first + n) of it. */
static void block(const struct step *s, const int64_t start[3], int64_t lo, int64_t hi,
                  int64_t first, int64_t n, float *work)
{
    const struct matmul_attrs *a = s->node->attrs;
    enum dtype t = s->out_tensor[0]->dtype;
    float *b = work, *rows = b + a->sums * n, *y = rows + ROWS * a->sums;

    for (int64_t l = 0; l < a->sums; l++)
        load(t, s->in[MATMUL_B],
             start[1] + l * a->b[MATMUL_ROW] + first * a->b[MATMUL_COLUMN],
             a->b[MATMUL_COLUMN], n, b + l * n);
    for (int64_t i = lo; i < hi; i += ROWS) {
        int64_t have = hi - i < ROWS ? hi - i : ROWS;

        memset(rows, 0, (size_t)(ROWS * a->sums) * sizeof(*rows));
        for (int64_t k = 0; k < have; k++)
            load(t, s->in[MATMUL_A], start[0] + (i + k) * a->a[MATMUL_ROW],
                 a->a[MATMUL_COLUMN], a->sums, rows + k * a->sums);
        multiply(rows, b, y, a->sums, n);
        for (int64_t k = 0; k < have; k++)
            store(t, y + k * n, a->alpha, n, s->out[0],
                  start[2] + (i + k) * a->y[MATMUL_ROW] + first * a->y[MATMUL_COLUMN],
                  a->y[MATMUL_COLUMN]);
    }
}

static void matmul_part(void *arg, int thread)
{
    const struct job *j = arg;
    const struct matmul_attrs *a = j->s->node->attrs;
    float *work = (float *)j->s->workspace + (size_t)thread * thread_floats(a);
    int64_t parts = (a->rows + TASK_ROWS - 1) / TASK_ROWS, lo, hi;

    cpu_part(a->batch[0] * a->batch[1] * parts, 1, thread, j->threads, &lo, &hi);
    for (int64_t task = lo; task < hi; task++) {
        int64_t row = task % parts * TASK_ROWS, q = task / parts % a->batch[1],
                p = task / parts / a->batch[1];
        int64_t end = row + TASK_ROWS < a->rows ? row + TASK_ROWS : a->rows;
        int64_t start[] = {p * a->a[0] + q * a->a[1], p * a->b[0] + q * a->b[1],
                           p * a->y[0] + q * a->y[1]};

        for (int64_t c = 0; c < a->columns; c += COLUMNS)
            block(j->s, start, row, end, c,
                  a->columns - c < COLUMNS ? a->columns - c : COLUMNS, work);
    }
}

static void matmul_run(struct step *s, struct device *dev)
{
    cpu_parallel(dev, matmul_part, &(struct job){s, dev->threads});
}

const struct kernel cpu_matmul = {
    .name = "cpu matmul",
    .claim = matmul_claim,
    .run = matmul_run,
};
