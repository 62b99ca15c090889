#include "cuda/cudnn_attention.h"

#include <math.h>
#include <string.h>

enum { B, H, ROW, COLUMN };

/* A graph under construction. */
struct making {
    const struct cudnn_attention *a;
    struct cudnn_graph *g;
    enum cudnn_attention_part *part;
};

static int add(const struct making *m, struct cudnn_tensor t, const int64_t dim[4],
               const int64_t stride[4])
{
    memcpy(t.dim, dim, sizeof(t.dim));
    memcpy(t.stride, stride, sizeof(t.stride));
    return cudnn_graph_add(m->g, &t);
}

static int add_part(const struct making *m, enum cudnn_attention_part part,
                    struct cudnn_tensor t, const int64_t dim[4], const int64_t stride[4])
{
    int i;

    t.real = true;
    i = add(m, t, dim, stride);
    m->part[i] = part;
    return i;
}

/* A tensor [rows][columns] per head, one head after the other. */
static int packed(const struct making *m, struct cudnn_tensor t, int64_t rows,
                  int64_t columns)
{
    const struct cudnn_attention *a = m->a;

    return add(m, t, (int64_t[]){a->images, a->heads, rows, columns},
               (int64_t[]){a->heads * rows * columns, rows * columns, columns, 1});
}

static int scores(const struct making *m)
{
    return packed(m, (struct cudnn_tensor){.dtype = DTYPE_F32}, m->a->tokens,
                  m->a->tokens);
}

static int per_token(const struct making *m)
{
    return packed(m, (struct cudnn_tensor){.dtype = DTYPE_F32}, m->a->tokens, 1);
}

static int stored_per_token(const struct making *m, enum cudnn_attention_part part)
{
    int i = per_token(m);

    m->g->tensor[i].real = true;
    m->part[i] = part;
    return i;
}

/*
 * The features of each token in memory; or transposed, with the features as rows.
 */
static int features(const struct making *m, enum cudnn_attention_part part,
                    bool transposed)
{
    const struct cudnn_attention *a = m->a;
    bool whole = part == CUDNN_ATTENTION_Y || part == CUDNN_ATTENTION_DY;
    int64_t token = (whole ? 1 : 3) * a->heads * a->head;
    int64_t dim[4] = {a->images, a->heads, a->tokens, a->head};
    int64_t stride[4] = {a->tokens * token, a->head, token, 1};

    if (transposed) {
        dim[ROW] = a->head;
        dim[COLUMN] = a->tokens;
        stride[ROW] = 1;
        stride[COLUMN] = token;
    }
    return add_part(m, part, (struct cudnn_tensor){.dtype = a->type}, dim, stride);
}

static int number(const struct making *m, float value)
{
    static const int64_t one[4] = {1, 1, 1, 1};

    return add_part(
        m, CUDNN_ATTENTION_VALUE,
        (struct cudnn_tensor){.dtype = DTYPE_F32, .by_value = true, .value = value}, one,
        one);
}

static int lengths(const struct making *m)
{
    return add_part(m, CUDNN_ATTENTION_LENGTHS,
                    (struct cudnn_tensor){
                        .dtype = DTYPE_I32, .filled = true, .value = (float)m->a->tokens},
                    (int64_t[]){m->a->images, 1, 1, 1}, (int64_t[]){1, 1, 1, 1});
}

static int apply(const struct making *m, enum cudnn_op_kind kind, int a, int b, int out)
{
    (void)cudnn_graph_op(m->g, kind, a, b, out);
    return out;
}

/* a b; rows, columns, products: tensors with these lengths, or -1. */
static int multiply(const struct making *m, int a, int b, int out, int rows, int columns,
                    int products)
{
    struct cudnn_op *o = cudnn_graph_op(m->g, CUDNN_MATMUL, a, b, out);

    memcpy(o->more, (int[]){rows, columns, products}, sizeof(o->more));
    return out;
}

static void round_to(const struct making *m, int i)
{
    m->g->tensor[i].dtype = m->a->type;
}

void cudnn_attention_forward(const struct cudnn_attention *a, struct cudnn_graph *g,
                             enum cudnn_attention_part *part)
{
    struct making m = {a, g, part};
    int s = multiply(&m, features(&m, CUDNN_ATTENTION_Q, false),
                     features(&m, CUDNN_ATTENTION_K, true), scores(&m), -1, -1, -1);
    int row_max, sum, log, p;

    s = apply(&m, CUDNN_MUL, s, number(&m, a->scale), scores(&m));
    row_max = apply(&m, CUDNN_MAX, s, -1, per_token(&m));
    s = apply(&m, CUDNN_SUB, s, row_max, scores(&m));
    s = apply(&m, CUDNN_EXP, s, -1, scores(&m));
    sum = apply(&m, CUDNN_SUM, s, -1, per_token(&m));
    log = apply(&m, CUDNN_LOG, sum, -1, per_token(&m));
    (void)apply(&m, CUDNN_ADD, row_max, log, stored_per_token(&m, CUDNN_ATTENTION_LSE));
    p = apply(&m, CUDNN_DIV, s, sum, scores(&m));
    round_to(&m, p);
    (void)multiply(&m, p, features(&m, CUDNN_ATTENTION_V, false),
                   features(&m, CUDNN_ATTENTION_Y, false), -1, -1, -1);
}

/* Masks scores to -infinity unless both query and key exist. Nothing is masked, as the
 * lengths are the numbers of tokens. */
static int mask(const struct making *m, int s, int queries, int keys)
{
    int inside[2], length[] = {queries, keys}, both, out;

    for (int i = 0; i < 2; i++) {
        int index = scores(m);

        m->g->tensor[index].dtype = DTYPE_I32;
        cudnn_graph_op(m->g, CUDNN_INDEX, s, -1, index)->axis = ROW + i;
        inside[i] = apply(m, CUDNN_LESS, index, length[i], scores(m));
        m->g->tensor[inside[i]].boolean = true;
    }
    both = apply(m, CUDNN_AND, inside[0], inside[1], scores(m));
    m->g->tensor[both].boolean = true;
    out = scores(m);
    cudnn_graph_op(m->g, CUDNN_SELECT, s, number(m, -INFINITY), out)->more[0] = both;
    return out;
}

/* Scores with rows and columns exchanged, rounded for the next product. */
static int transposed(const struct making *m, int x)
{
    const struct cudnn_attention *a = m->a;
    int64_t t = a->tokens;

    return apply(m, CUDNN_RESHAPE, x, -1,
                 add(m, (struct cudnn_tensor){.dtype = a->type},
                     (int64_t[]){a->images, a->heads, t, t},
                     (int64_t[]){a->heads * t * t, t * t, 1, t}));
}

/* Returns k with its stored layout, given k^T. */
static int untransposed(const struct making *m, int k)
{
    const struct cudnn_tensor t = m->g->tensor[k];

    return apply(
        m, CUDNN_RESHAPE, k, -1,
        add(m, (struct cudnn_tensor){.dtype = DTYPE_F32},
            (int64_t[]){t.dim[B], t.dim[H], t.dim[COLUMN], t.dim[ROW]},
            (int64_t[]){t.stride[B], t.stride[H], t.stride[COLUMN], t.stride[ROW]}));
}

/* sum over features of y dy */
static int delta(const struct making *m, int dy)
{
    int y = features(m, CUDNN_ATTENTION_Y, false);
    int d =
        packed(m, (struct cudnn_tensor){.dtype = DTYPE_F32}, m->a->tokens, m->a->head);

    d = apply(m, CUDNN_MUL, dy, y, d);
    d = apply(m, CUDNN_SUM, d, -1, per_token(m));
    return apply(m, CUDNN_MUL, d, number(m, 1),
                 stored_per_token(m, CUDNN_ATTENTION_DELTA));
}

static void write_dq(const struct making *m, int ds, int k, int queries, int keys)
{
    int sum;

    if (m->a->in_order) {
        (void)multiply(m, ds, k, features(m, CUDNN_ATTENTION_DQ, false), queries, -1,
                       keys);
        return;
    }
    sum = packed(m, (struct cudnn_tensor){.dtype = DTYPE_F32, .real = true}, m->a->tokens,
                 m->a->head);
    m->part[sum] = CUDNN_ATTENTION_DQ_SUM;
    (void)multiply(m, ds, k, sum, queries, -1, keys);
    (void)apply(m, CUDNN_IDENTITY, sum, -1, features(m, CUDNN_ATTENTION_DQ, false));
}

void cudnn_attention_gradient(const struct cudnn_attention *a, struct cudnn_graph *g,
                              enum cudnn_attention_part *part)
{
    struct making m = {a, g, part};
    int queries = a->masked ? lengths(&m) : -1, keys = a->masked ? lengths(&m) : -1;
    int scale = number(&m, a->scale), dy = features(&m, CUDNN_ATTENTION_DY, false);
    int q = features(&m, CUDNN_ATTENTION_Q, false);
    int k = features(&m, CUDNN_ATTENTION_K, true), d = delta(&m, dy), s, p, ds;

    s = multiply(&m, q, k, scores(&m), queries, keys, -1);
    s = apply(&m, CUDNN_MUL, s, scale, scores(&m));
    if (a->masked)
        s = mask(&m, s, queries, keys);
    s = apply(&m, CUDNN_SUB, s, stored_per_token(&m, CUDNN_ATTENTION_LSE), scores(&m));
    p = apply(&m, CUDNN_EXP, s, -1, scores(&m));
    (void)multiply(&m, transposed(&m, p), dy, features(&m, CUDNN_ATTENTION_DV, false),
                   keys, -1, queries);
    ds = multiply(&m, dy, features(&m, CUDNN_ATTENTION_V, true), scores(&m), queries,
                  keys, -1);
    ds = apply(&m, CUDNN_SUB, ds, d, scores(&m));
    ds = apply(&m, CUDNN_MUL, ds, p, scores(&m));
    ds = apply(&m, CUDNN_MUL, ds, scale, scores(&m));
    (void)multiply(&m, transposed(&m, ds), q, features(&m, CUDNN_ATTENTION_DK, false),
                   keys, -1, queries);
    write_dq(&m, ds, untransposed(&m, k), queries, keys);
}
