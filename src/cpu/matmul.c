/*
 * matmul: a task is some rows of the product of one matrix. It packs columns of b in panels
 * for the loops of our own convolutions (gemm_args.h), and rows of a, both as fp32.
 */
#include "ops/matmul.h"

#include <string.h>

#include "base/clones.h"
#include "base/half.h"
#include "cpu/conv/conv.h"
#include "cpu/device.h"
#include "cpu/kernels.h"
#include "graph/kernel.h"

#ifndef __clang__
#pragma GCC optimize("O3") /* base/clones.h */
#endif

enum {
    ROWS = 8 * GEMM_ROWS, /* multiplied at once */
    COLUMNS = 8 * GEMM_PANEL,
    FLOATS = 1 << 17, /* of packed columns: what the second cache holds, about */
    TASKS = 4,        /* of each thread, before a task has all rows of a matrix */
    TILE = 16,
};

static int64_t rounded_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Columns packed at a time, a multiple of GEMM_PANEL. */
static int64_t columns_of(const struct matmul_attrs *a)
{
    int64_t n = FLOATS / rounded_up(a->sums, TILE) / GEMM_PANEL * GEMM_PANEL,
            all = rounded_up(a->columns, GEMM_PANEL);

    n = n < GEMM_PANEL ? GEMM_PANEL : n < COLUMNS ? n : COLUMNS;
    return n < all ? n : all;
}

/* Floats between two rows of a. */
static int64_t row_of(const struct matmul_attrs *a)
{
    return odd_lines((int)rounded_up(a->sums, TILE));
}

/* The memory of a thread. */
struct work {
    float *b;      /* [columns / GEMM_PANEL][sums][GEMM_PANEL] */
    float *panel;  /* a panel of b in its own order */
    float *a;      /* [ROWS][row_of] */
    float *y;      /* [ROWS][columns] */
    int64_t total; /* floats */
};

static struct work work_of(const struct matmul_attrs *a, float *base)
{
    int64_t sums = rounded_up(a->sums, TILE), columns = columns_of(a);
    struct work w = {.b = base};

    w.panel = w.b + sums * columns;
    w.a = w.panel + sums * GEMM_PANEL;
    w.y = w.a + ROWS * row_of(a);
    w.total = sums * columns + sums * GEMM_PANEL + ROWS * (row_of(a) + columns);
    return w;
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
    region_workspace(r, (size_t)dev->threads * sizeof(float) *
                            (size_t)work_of(n->attrs, NULL).total);
    return NULL;
}

/* ---- loads and stores ---- */

CLONES static void load_near(enum dtype t, const void *x, int64_t pos, int64_t n,
                             float *dst)
{
    if (t == DTYPE_F32)
        memcpy(dst, (const float *)x + pos, (size_t)n * sizeof(*dst));
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = bf16_to_float(((const uint16_t *)x)[pos + i]);
}

/* Copies n elements that are `step` apart. */
static void load(enum dtype t, const void *x, int64_t pos, int64_t step, int64_t n,
                 float *dst)
{
    if (step == 1)
        load_near(t, x, pos, n, dst);
    else
        for (int64_t i = 0; i < n; i++)
            dst[i] = t == DTYPE_F32
                         ? ((const float *)x)[pos + i * step]
                         : bf16_to_float(((const uint16_t *)x)[pos + i * step]);
}

/* Copies the transpose of n rows [width], `step` apart: dst[i * next + k] is element i of row
 * k. */
CLONES static void load_transposed(enum dtype t, const void *x, int64_t pos, int64_t step,
                                   int64_t n, int64_t width, float *dst, int64_t next)
{
    float tile[TILE][TILE];

    for (int64_t k = 0; k < n; k += TILE)
        for (int64_t i = 0; i < width; i += TILE) {
            int64_t high = n - k < TILE ? n - k : TILE,
                    wide = width - i < TILE ? width - i : TILE;

            for (int64_t m = 0; m < high; m++)
                load_near(t, x, pos + (k + m) * step + i, wide, tile[m]);
            for (int64_t l = 0; l < wide; l++)
                for (int64_t m = 0; m < high; m++)
                    dst[(i + l) * next + k + m] = tile[m][l];
        }
}

CLONES static void store_near(enum dtype t, const float *src, float alpha, int64_t n,
                              void *y, int64_t pos)
{
    if (t == DTYPE_F32)
        for (int64_t i = 0; i < n; i++)
            ((float *)y)[pos + i] = alpha * src[i];
    else
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)y)[pos + i] = bf16_from_float(alpha * src[i]);
}

static void store(enum dtype t, const float *src, float alpha, int64_t n, void *y,
                  int64_t pos, int64_t step)
{
    if (step == 1) {
        store_near(t, src, alpha, n, y, pos);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (t == DTYPE_F32)
            ((float *)y)[pos + i * step] = alpha * src[i];
        else
            ((uint16_t *)y)[pos + i * step] = bf16_from_float(alpha * src[i]);
    }
}

/* ---- blocks ---- */

struct job {
    const struct step *s;
    const struct device *dev;
    int64_t rows; /* of a task */
};

/* Packs the columns of b from element `pos` on, n <= GEMM_PANEL, and zeros. */
static void pack_panel(const struct job *j, int64_t pos, int64_t n, const struct work *w,
                       float *dst)
{
    const struct matmul_attrs *a = j->s->node->attrs;
    enum dtype t = j->s->out_tensor[0]->dtype;
    int64_t sums = rounded_up(a->sums, TILE), row = a->b[MATMUL_ROW],
            column = a->b[MATMUL_COLUMN];
    bool transposed = row == 1 && column != 1;
    const void *b = j->s->in[MATMUL_B];

    if (!transposed) {
        for (int64_t l = 0; l < a->sums; l++, dst += GEMM_PANEL) {
            load(t, b, pos + l * row, column, n, dst);
            memset(dst + n, 0, (size_t)(GEMM_PANEL - n) * sizeof(*dst));
        }
        return;
    }
    memset(w->panel, 0, (size_t)(sums * GEMM_PANEL) * sizeof(*dst));
    for (int64_t k = 0; k < n; k++)
        load_near(t, b, pos + k * column, a->sums, w->panel + k * sums);
    j->dev->loops->conv.gemm_pack(w->panel, sums, sums, GEMM_PANEL, true, GEMM_FLOATS,
                                  dst);
}

/* Loads rows of a from element `pos` on. */
static void load_rows(const struct job *j, int64_t pos, int64_t n, float *dst)
{
    const struct matmul_attrs *a = j->s->node->attrs;
    enum dtype t = j->s->out_tensor[0]->dtype;
    int64_t row = a->a[MATMUL_ROW], column = a->a[MATMUL_COLUMN];

    if (row == 1 && column != 1)
        load_transposed(t, j->s->in[MATMUL_A], pos, column, a->sums, n, dst, row_of(a));
    else
        for (int64_t i = 0; i < n; i++)
            load(t, j->s->in[MATMUL_A], pos + i * row, column, a->sums,
                 dst + i * row_of(a));
}

/* Rows [lo, hi) of the product of one matrix, and columns [first, first + n) of it. */
static void block(const struct job *j, const int64_t start[3], int64_t lo, int64_t hi,
                  int64_t first, int64_t n, const struct work *w)
{
    const struct matmul_attrs *a = j->s->node->attrs;
    enum dtype t = j->s->out_tensor[0]->dtype;
    int64_t sums = rounded_up(a->sums, TILE), wide = rounded_up(n, TILE);
    void *y[ROWS];

    for (int64_t k = 0; k < n; k += GEMM_PANEL)
        pack_panel(j, start[1] + (first + k) * a->b[MATMUL_COLUMN],
                   n - k < GEMM_PANEL ? n - k : GEMM_PANEL, w, w->b + k * sums);
    for (int64_t i = 0; i < ROWS; i++)
        y[i] = w->y + i * wide;
    for (int64_t i = lo; i < hi; i += ROWS) {
        int64_t have = hi - i < ROWS ? hi - i : ROWS;
        const struct gemm_rows g = {.rows = (int)have,
                                    .cols = (int)wide,
                                    .depth = a->sums,
                                    .a_row = row_of(a),
                                    .b_panel = sums * GEMM_PANEL,
                                    .a = w->a,
                                    .b = w->b,
                                    .y = y};

        load_rows(j, start[0] + i * a->a[MATMUL_ROW], have, w->a);
        j->dev->loops->conv.gemm_rows(&g);
        for (int64_t k = 0; k < have; k++)
            store(t, w->y + k * wide, a->alpha, n, j->s->out[0],
                  start[2] + (i + k) * a->y[MATMUL_ROW] + first * a->y[MATMUL_COLUMN],
                  a->y[MATMUL_COLUMN]);
    }
}

static void matmul_part(void *arg, int thread)
{
    const struct job *j = arg;
    const struct matmul_attrs *a = j->s->node->attrs;
    struct work w = work_of(a, NULL);
    int64_t parts = (a->rows + j->rows - 1) / j->rows, columns = columns_of(a), lo, hi;

    w = work_of(a, (float *)j->s->workspace + thread * w.total);
    cpu_part(a->batch[0] * a->batch[1] * parts, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t task = lo; task < hi; task++) {
        int64_t row = task % parts * j->rows, q = task / parts % a->batch[1],
                p = task / parts / a->batch[1];
        int64_t end = row + j->rows < a->rows ? row + j->rows : a->rows;
        int64_t start[] = {p * a->a[0] + q * a->a[1], p * a->b[0] + q * a->b[1],
                           p * a->y[0] + q * a->y[1]};

        for (int64_t c = 0; c < a->columns; c += columns)
            block(j, start, row, end, c,
                  a->columns - c < columns ? a->columns - c : columns, &w);
    }
}

static void matmul_run(struct step *s, struct device *dev)
{
    const struct matmul_attrs *a = s->node->attrs;
    bool many = a->batch[0] * a->batch[1] >= (int64_t)TASKS * dev->threads;

    cpu_parallel(dev, matmul_part, &(struct job){s, dev, many ? a->rows : ROWS});
}

const struct kernel cpu_matmul = {
    .name = "cpu matmul",
    .claim = matmul_claim,
    .run = matmul_run,
};
