/*
 * Swin-MLP's token mixing on the CPU. A task is a head of a window of an image: its
 * features are copied into rows of whole vectors, and a GEMM mixes them. Weight gradients
 * do not depend on the number of threads: each head's tasks are split into a number of
 * units that depends only on the shape, and units are added in order.
 *
 * Costs for SwinMLP-T/C24's first stage at batch 8 and 256 x 256 (32,768 tokens of 96
 * features, windows of 64): reads 13 MB, writes 13 MB, 0.2 G multiply-accumulates; twice
 * that in backward.
 */
#include "ops/window_mix.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/simd/attention_loops.h"
#include "graph/kernel.h"

enum { UNITS = 96 }; /* units of the weight gradient, over all heads; approximate */

enum mode { FORWARD, DATA_GRAD, WEIGHT_GRAD };

struct mix_state {
    enum mode mode;
    struct window_mix_size size;
    int units; /* per head */
    /* tokens and the head's features, rounded up to whole vectors */
    int keys, row;
    int64_t sums;           /* floats per unit: dW [tokens][keys], db [tokens] */
    int64_t weights, piece; /* workspace floats: fp32 weights; per thread */
};

/* A thread's part of the workspace. */
struct piece {
    float *x, *y; /* [tokens][row] */
    float *panels;
    int *pixel;
};

static int64_t piece_of(const struct mix_state *st, int lanes, float *base,
                        struct piece *p)
{
    int64_t pos = 0, rows = (int64_t)st->size.tokens * st->row;
    int64_t panels = (st->keys + 2 * lanes - 1) / (2 * lanes) * 2 * lanes;

    p->x = attention_carve(base, &pos, rows);
    p->y = attention_carve(base, &pos, rows);
    p->panels =
        attention_carve(base, &pos, st->mode == WEIGHT_GRAD ? panels * st->size.head : 0);
    p->pixel = (int *)(void *)attention_carve(base, &pos, st->size.tokens);
    return pos;
}

static const struct {
    const struct op *op;
    int map, weight; /* indices of reads; weight may be -1 */
} modes[] = {
    [FORWARD] = {&op_window_mix, WINDOW_MIX_X, WINDOW_MIX_WEIGHT},
    [DATA_GRAD] = {&op_window_mix_data_grad, WINDOW_MIX_DATA_GRAD_DY,
                   WINDOW_MIX_DATA_GRAD_WEIGHT},
    [WEIGHT_GRAD] = {&op_window_mix_weight_grad, WINDOW_MIX_WEIGHT_GRAD_X, -1},
};

static bool find_mode(const struct node *n, enum mode *mode)
{
    for (int i = FORWARD; i <= WEIGHT_GRAD; i++)
        if (modes[i].op == n->op) {
            *mode = (enum mode)i;
            return true;
        }
    return false;
}

static const char *mix_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    struct mix_state *st = region_state(r);
    const struct tensor *map;
    int64_t bytes;
    struct piece p;

    (void)g;
    if (!find_mode(n, &st->mode))
        return "no mixing of windows";
    map = n->in[modes[st->mode].map];
    if (!cpu_dtype(map))
        return "fp32 and bf16 only";
    for (int i = 0; i < n->nin; i++)
        if (i != WINDOW_MIX_BIAS && n->in[i]->dtype != map->dtype)
            return "one type for data and weights";

    st->size = window_mix_size(n->attrs, map);
    st->keys = attention_keys(dev->loops->lanes, st->size.tokens);
    st->row = attention_keys(dev->loops->lanes, st->size.head);
    st->units = (UNITS + st->size.heads - 1) / st->size.heads;
    if (st->units > st->size.images * st->size.windows)
        st->units = (int)(st->size.images * st->size.windows);
    st->sums = (int64_t)(st->keys + 1) * st->size.tokens;
    if (st->mode != WEIGHT_GRAD && map->dtype != DTYPE_F32)
        st->weights = (tensor_len(n->in[modes[st->mode].weight]) + 15) / 16 * 16;
    st->piece = piece_of(st, dev->loops->lanes, NULL, &p);
    bytes = st->weights + st->piece * dev->threads;
    if (st->mode == WEIGHT_GRAD)
        bytes += st->sums * st->units * st->size.heads;

    region_claim_node(r, n);
    region_workspace(r, (size_t)bytes * sizeof(float));
    return NULL;
}

struct job {
    const struct device *dev;
    const struct step *s;
    const struct mix_state *st;
    enum dtype t;
    const float *weight; /* converted to fp32 */
    float *wide;         /* buffer for weights widened to fp32, or NULL */
    float *base, *sums;  /* threads' pieces, and [heads][units][sums] */
};

/* Computes the pixels of a window's tokens. */
static void find_pixels(const struct window_grid *g, int window, int *pixel)
{
    int y0 = window / g->columns * g->window_h - g->pad_top;
    int x0 = window % g->columns * g->window_w - g->pad_left;

    for (int y = y0; y < y0 + g->window_h; y++)
        for (int x = x0; x < x0 + g->window_w; x++)
            *pixel++ =
                y >= 0 && y < g->height && x >= 0 && x < g->width ? y * g->width + x : -1;
}

/* Copies the head's features of a task (a window of an image) into rows. */
static void gather(const struct job *j, const struct piece *p, int input, int head,
                   int64_t task, float *dst)
{
    const struct window_mix_size *z = &j->st->size;
    int64_t pos = task / z->windows * z->pixels * z->channels + head * z->head;

    j->dev->loops->attention->gather_rows(j->t, cpu_at(j->s->in[input], j->t, pos),
                                          p->pixel, z->tokens, z->channels, z->head, dst,
                                          j->st->row);
}

/* ---- forward, and the data gradient ---- */

static void mix_task(const struct job *j, const struct piece *p, int head, int64_t task)
{
    const struct mix_state *st = j->st;
    const struct window_mix_size *z = &st->size;
    bool back = st->mode == DATA_GRAD;
    const float *bias = back ? NULL : j->s->in[WINDOW_MIX_BIAS];
    int64_t pos = task / z->windows * z->pixels * z->channels + head * z->head;

    find_pixels(&z->grid, (int)(task % z->windows), p->pixel);
    gather(j, p, modes[st->mode].map, head, task, p->x);
    j->dev->loops->attention->matmul(&(const struct matmul){
        .rows = z->tokens,
        .cols = st->row,
        .depth = z->tokens,
        .a = j->weight + (int64_t)head * z->tokens * z->tokens,
        .a_row = back ? 1 : z->tokens,
        .a_depth = back ? z->tokens : 1,
        .b = p->x,
        .b_depth = st->row,
        .b_panel = 2 * j->dev->loops->lanes,
        .y = p->y,
        .y_row = st->row,
    });
    j->dev->loops->attention->scatter_rows(
        j->t, p->y, st->row, p->pixel, z->tokens, z->channels, z->head,
        bias ? bias + head * z->tokens : NULL, cpu_out(j->s->out[0], j->t, pos));
}

static void mix_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct mix_state *st = j->st;
    int64_t tasks = st->size.images * st->size.windows, lo, hi;
    struct piece p;

    (void)piece_of(st, j->dev->loops->lanes, j->base + thread * st->piece, &p);
    if (j->wide) {
        const struct tensor *w = j->s->in_tensor[modes[st->mode].weight];
        const void *src = j->s->in[modes[st->mode].weight];

        cpu_part(tensor_len(w), 16, thread, j->dev->threads, &lo, &hi);
        j->dev->loops->cast(w->dtype, DTYPE_F32, cpu_at(src, w->dtype, lo), j->wide + lo,
                            hi - lo, false);
        cpu_barrier();
    }
    cpu_part(tasks * st->size.heads, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++)
        mix_task(j, &p, (int)(i / tasks), i % tasks);
}

/* ---- the weight gradient ---- */

static float *sums_of(const struct job *j, int64_t unit)
{
    return j->sums + unit * j->st->sums;
}

/* Adds dy x^T of a task to dW, and the sums of dy to db. */
static void weight_task(const struct job *j, const struct piece *p, int head,
                        int64_t task, float *sums, bool add)
{
    const struct mix_state *st = j->st;
    const struct window_mix_size *z = &st->size;
    float *db = sums + (int64_t)st->keys * z->tokens;

    find_pixels(&z->grid, (int)(task % z->windows), p->pixel);
    gather(j, p, WINDOW_MIX_WEIGHT_GRAD_X, head, task, p->x);
    gather(j, p, WINDOW_MIX_WEIGHT_GRAD_DY, head, task, p->y);
    j->dev->loops->attention->panels(p->x, st->row, z->tokens, z->head, p->panels);
    j->dev->loops->attention->matmul(&(const struct matmul){
        .rows = z->tokens,
        .cols = st->keys,
        .depth = z->head,
        .a = p->y,
        .a_row = st->row,
        .a_depth = 1,
        .b = p->panels,
        .b_depth = 2 * j->dev->loops->lanes,
        .b_panel = 2 * (int64_t)j->dev->loops->lanes * z->head,
        .y = sums,
        .y_row = st->keys,
        .add = add,
    });
    for (int i = 0; i < z->tokens; i++) {
        float sum = 0;

        for (int c = 0; c < z->head; c++)
            sum += p->y[i * st->row + c];
        db[i] = add ? db[i] + sum : sum;
    }
}

/* Element `pos` of a head's sums, over all units. */
static float total(const struct job *j, int head, int64_t pos)
{
    double sum = 0;

    for (int u = 0; u < j->st->units; u++)
        sum += (double)sums_of(j, (int64_t)head * j->st->units + u)[pos];
    return (float)sum;
}

/* Row `row` of the weight gradients of all heads. */
static void weight_row(const struct job *j, int64_t row)
{
    const struct mix_state *st = j->st;
    float *dw = j->s->out[WINDOW_MIX_WEIGHT_GRAD_DW];
    float *db = j->s->out[WINDOW_MIX_WEIGHT_GRAD_DB];
    int n = st->size.tokens, head = (int)(row / n), i = (int)(row % n);

    for (int k = 0; dw && k < n; k++)
        dw[row * n + k] = total(j, head, (int64_t)i * st->keys + k);
    if (db)
        db[row] = total(j, head, (int64_t)st->keys * n + i);
}

static void weight_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct mix_state *st = j->st;
    int64_t tasks = st->size.images * st->size.windows, lo, hi;
    struct piece p;

    (void)piece_of(st, j->dev->loops->lanes, j->base + thread * st->piece, &p);
    cpu_part((int64_t)st->size.heads * st->units, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        int64_t unit = i % st->units, first = tasks * unit / st->units;

        for (int64_t k = first; k < tasks * (unit + 1) / st->units; k++)
            weight_task(j, &p, (int)(i / st->units), k, sums_of(j, i), k > first);
    }
    cpu_barrier();
    cpu_part((int64_t)st->size.heads * st->size.tokens, 1, thread, j->dev->threads, &lo,
             &hi);
    for (int64_t r = lo; r < hi; r++)
        weight_row(j, r);
}

static void mix_run(struct step *s, struct device *dev)
{
    const struct mix_state *st = s->state;
    float *ptr = s->workspace;
    struct job j = {.dev = dev,
                    .s = s,
                    .st = st,
                    .t = s->in_tensor[modes[st->mode].map]->dtype,
                    .wide = st->weights ? ptr : NULL,
                    .base = ptr + st->weights,
                    .sums = ptr + st->weights + st->piece * dev->threads};

    if (st->mode != WEIGHT_GRAD)
        j.weight = st->weights ? ptr : s->in[modes[st->mode].weight];
    cpu_parallel(dev, st->mode == WEIGHT_GRAD ? weight_thread : mix_thread, &j);
}

const struct kernel cpu_window_mix = {
    .name = "cpu window_mix",
    .claim = mix_claim,
    .run = mix_run,
    .state_size = sizeof(struct mix_state),
};
