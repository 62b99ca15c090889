/*
 * Window attention on the CPU. A task is a head of a window of an image, computed by
 * loops->attention (cpu/simd/attention.inc) or, for bf16 with AMX, by
 * cpu/simd/attention_amx.inc. Tasks are ordered by head, so that the head's bias,
 * expanded to a value per pair of tokens, stays in the cache for all of its windows.
 *
 * Sums over windows (of the table, logit_scale, and pad) do not depend on the number of
 * threads: each head's tasks are split into a number of units that depends only on the
 * shape, one thread sums a unit in order, and units are added in order.
 *
 * Costs for Swin-T's first stage at batch 8 (25,088 tokens, 3 heads of 32 features,
 * windows of 49) in fp32: forward reads 29 MB and writes 10 MB, with 0.24 G
 * multiply-accumulates and 3.7 M exponentials; backward 58 MB, 29 MB, 0.59 G, 3.7 M.
 */
#include "ops/window_attention.h"

#include <string.h>

#include "cpu/device.h"
#include "cpu/kernels.h"
#include "cpu/simd/attention_amx.h"
#include "cpu/simd/attention_loops.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/window_attention_formula.h"

enum { UNITS = 96 }; /* units of the gradient, over all heads; approximate */

struct attention_state {
    struct window_attention_size size;
    bool gradient;
    bool amx;
    int units;     /* per head */
    int64_t rows;  /* of the table, or 0 */
    int64_t sums;  /* floats per unit: table, logit_scale, pad */
    int64_t piece; /* workspace floats per thread */
    int option[WINDOW_ATTENTION_OPTIONS];
};

static int64_t align16(int64_t n)
{
    return (n + 15) / 16 * 16;
}

/* A thread's part of the workspace. */
struct piece {
    float *bias, *dbias; /* [tokens][keys] */
    float *region;       /* [keys] */
    float *column;       /* the head's column of the table */
    int *pixel, *query;  /* [tokens] */
    int *prefetch;       /* [tokens]: pixels of the next task */
    float *scratch;
};

static int64_t scratch_of(const struct attention_state *st, int lanes)
{
    struct attention_room r;

    return st->amx ? attention_amx_room(st->size.tokens, st->size.head, st->gradient)
                   : attention_room(&r, lanes, st->size.tokens, st->size.head,
                                    st->gradient, NULL);
}

static int64_t piece_of(const struct attention_state *st, int lanes, float *base,
                        struct piece *p)
{
    int64_t pos = 0, tokens = st->size.tokens, keys = attention_keys(lanes, (int)tokens);
    int64_t pairs = st->rows ? tokens * keys : 0;

    p->bias = attention_carve(base, &pos, pairs);
    p->dbias = attention_carve(base, &pos, st->gradient ? pairs : 0);
    p->region = attention_carve(base, &pos, keys);
    p->column = attention_carve(base, &pos, st->rows);
    p->pixel = (int *)(void *)attention_carve(base, &pos, tokens);
    p->query = (int *)(void *)attention_carve(base, &pos, tokens);
    p->prefetch = (int *)(void *)attention_carve(base, &pos, tokens);
    p->scratch = base ? base + pos : NULL;
    return pos + scratch_of(st, lanes);
}

static const char *attention_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    struct attention_state *st = region_state(r);
    const struct tensor *qkv = n->in[WINDOW_ATTENTION_QKV];
    struct piece p;

    (void)g;
    if (n->op != &op_window_attention && n->op != &op_window_attention_grad)
        return "no window attention";
    st->gradient = n->op == &op_window_attention_grad;
    if (!cpu_dtype(qkv) || n->out[0]->dtype != qkv->dtype)
        return "fp32 and bf16 only, and one of them for all";
    if (st->gradient && n->in[WINDOW_ATTENTION_GRAD_DY]->dtype != qkv->dtype)
        return "fp32 and bf16 only, and one of them for all";

    st->amx = dev->amx && qkv->dtype == DTYPE_BF16 && dev->loops->lanes == 16;
    st->size = window_attention_size(n);
    for (int o = 0; o < WINDOW_ATTENTION_OPTIONS; o++)
        st->option[o] = window_attention_slot(n, (enum window_attention_option)o);
    if (st->option[WINDOW_ATTENTION_TABLE] >= 0)
        st->rows = window_grid_offsets(&st->size.grid);
    st->units = (UNITS + st->size.heads - 1) / st->size.heads;
    if (st->units > st->size.images * st->size.windows)
        st->units = (int)(st->size.images * st->size.windows);
    st->sums = align16(st->rows + 1 + 3 * st->size.head);
    st->piece = piece_of(st, dev->loops->lanes, NULL, &p);

    region_claim_node(r, n);
    region_workspace(
        r, (size_t)(st->piece * dev->threads +
                    (st->gradient ? st->sums * st->units * st->size.heads : 0)) *
               sizeof(float));
    return NULL;
}

struct job {
    struct device *dev;
    const struct step *s;
    const struct attention_state *st;
    struct dropout_key key;
    struct share share;
    const float *table, *logit_scale, *pad; /* may be NULL */
    float *sums;                            /* [heads][units][sums] */
};

/* The state of a thread. */
struct place {
    const struct job *j;
    struct piece p;
    struct attention a;
    int head;         /* head of the expanded bias; -1: none */
    int64_t prefetch; /* task whose pixels are in p.prefetch; -1: none */
};

/* ---- one task ---- */

/* Computes the pixel of each token of a window; -1: padding */
static void find_pixels(const struct window_grid *g, int window, int *pixel)
{
    int y0 = window / g->columns * g->window_h, x0 = window % g->columns * g->window_w;

    for (int y = y0; y < y0 + g->window_h; y++) {
        int from_y =
            y + g->roll_h < g->height ? y + g->roll_h : y + g->roll_h - g->height;

        for (int x = x0; x < x0 + g->window_w; x++) {
            int from_x =
                x + g->roll_w < g->width ? x + g->roll_w : x + g->roll_w - g->width;

            *pixel++ = y < g->height && x < g->width ? from_y * g->width + from_x : -1;
        }
    }
}

/* Computes the queries of a window, and its regions if it is divided. */
static void place_window(struct place *place, int window)
{
    const struct window_grid *g = &place->j->st->size.grid;
    struct attention *a = &place->a;
    bool divided = window_grid_divided(g, window);

    a->queries = 0;
    for (int t = 0; t < a->tokens; t++) {
        if (place->p.pixel[t] >= 0)
            place->p.query[a->queries++] = t;
        if (divided)
            place->p.region[t] = (float)window_grid_region(g, window, t);
    }
    a->region = divided ? place->p.region : NULL;
}

/* Expands a head's column of the table: all keys for each query. */
static void spread_bias(struct place *place, int head)
{
    const struct attention_state *st = place->j->st;
    const struct window_grid *g = &st->size.grid;
    int keys = attention_keys(place->j->dev->loops->lanes, st->size.tokens);
    float *dst = place->p.bias;

    for (int64_t r = 0; r < st->rows; r++)
        place->p.column[r] = place->j->table[r * st->size.heads + head];
    for (int i = 0; i < st->size.tokens; i++, dst += keys) {
        for (int y = 0, j = 0; y < g->window_h; y++) {
            const float *src = place->p.column + window_grid_offset(g, i, j);

            for (int x = 0; x < g->window_w; x++, j++)
                dst[j] = src[-x];
        }
        for (int j = st->size.tokens; j < keys; j++)
            dst[j] = 0;
    }
}

static void place_head(struct place *place, int head)
{
    const struct job *j = place->j;
    struct attention *a = &place->a;

    if (place->head == head)
        return;
    place->head = head;
    if (j->table)
        spread_bias(place, head);
    if (j->logit_scale)
        a->scale = (float)window_attention_scale(j->logit_scale[head]);
    if (j->pad)
        a->pad = j->pad + (int64_t)head * j->st->size.head;
}

/* Returns a task's q, or dy, for pixel 0 of its image. */
static const void *task_qkv(const struct place *place, int64_t task)
{
    const struct window_attention_size *z = &place->j->st->size;
    const struct step *s = place->j->s;
    int64_t tasks = z->images * z->windows, image = task % tasks / z->windows;

    return cpu_at(s->in[WINDOW_ATTENTION_QKV], place->a.t,
                  image * z->pixels * place->a.row + task / tasks * z->head);
}

static const void *task_dy(const struct place *place, int64_t task)
{
    const struct window_attention_size *z = &place->j->st->size;
    const struct step *s = place->j->s;
    int64_t tasks = z->images * z->windows, image = task % tasks / z->windows;

    return cpu_at(s->in[WINDOW_ATTENTION_GRAD_DY], place->a.t,
                  image * z->pixels * place->a.channels + task / tasks * z->head);
}

/* Computes the pixels of `task`, and of the next one if this thread runs it. */
static void place_pixels(struct place *place, int64_t task, bool more)
{
    const struct window_attention_size *z = &place->j->st->size;
    int *pixel = place->p.prefetch;

    if (place->prefetch != task)
        find_pixels(&z->grid, (int)(task % z->windows), pixel);
    place->p.prefetch = place->p.pixel;
    place->a.pixel = place->p.pixel = pixel;
    place->prefetch = more ? task + 1 : -1;
    place->a.prefetch = more ? place->p.prefetch : NULL;
    if (more)
        find_pixels(&z->grid, (int)((task + 1) % z->windows), place->p.prefetch);
}

/* Fills in the arguments of the loops for a task: one window of one head of one image. */
static void place_task(struct place *place, int64_t task, bool more)
{
    const struct job *j = place->j;
    const struct window_attention_size *z = &j->st->size;
    const struct step *s = j->s;
    int64_t tasks = z->images * z->windows, number = task % tasks;
    int64_t image = number / z->windows, pixel = image * z->pixels;
    int head = (int)(task / tasks);
    struct attention *a = &place->a;
    bool gradient = j->st->gradient;
    float *lse =
        gradient ? s->in[WINDOW_ATTENTION_GRAD_LSE] : s->out[WINDOW_ATTENTION_LSE];

    place_head(place, head);
    place_pixels(place, task, more);
    place_window(place, (int)(number % z->windows));
    a->qkv = task_qkv(place, task);
    a->ahead_qkv = more ? task_qkv(place, task + 1) : NULL;
    a->first = share_image(j->share, image) * z->pixels * z->heads + head;
    a->lse = lse ? lse + pixel * z->heads + head : NULL;
    if (gradient) {
        a->dy = task_dy(place, task);
        a->ahead_dy = more ? task_dy(place, task + 1) : NULL;
        a->dqkv = cpu_out(s->out[0], a->t, pixel * a->row + (int64_t)head * z->head);
    } else {
        a->y = cpu_out(s->out[0], a->t, pixel * a->channels + (int64_t)head * z->head);
    }
}

static struct place place_of(const struct job *j, int thread)
{
    const struct attention_state *st = j->st;
    const struct window_attention_attrs *attrs = j->s->node->attrs;
    float *base = (float *)j->s->workspace + thread * st->piece;
    struct place place = {.j = j, .head = -1, .prefetch = -1};

    (void)piece_of(st, j->dev->loops->lanes, base, &place.p);
    memset(place.p.region, 0, (size_t)st->size.tokens * sizeof(float));
    place.a = (struct attention){
        .t = j->s->in_tensor[WINDOW_ATTENTION_QKV]->dtype,
        .tokens = st->size.tokens,
        .head = st->size.head,
        .cosine = j->logit_scale != NULL,
        .scale = attrs->scale,
        .pixel = place.p.pixel,
        .query = place.p.query,
        .row = 3 * (int64_t)st->size.channels,
        .channels = st->size.channels,
        .heads = st->size.heads,
        .bias = j->table ? place.p.bias : NULL,
        .key = attrs->dropout > 0 ? &j->key : NULL,
        .scratch = place.p.scratch,
    };
    return place;
}

/* ---- forward ---- */

static void forward_thread(void *arg, int thread)
{
    const struct job *j = arg;
    struct place place = place_of(j, thread);
    int64_t tasks = j->st->size.images * j->st->size.windows, lo, hi;

    cpu_part(tasks * j->st->size.heads, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        place_task(&place, i, i + 1 < hi);
        if (j->st->amx)
            attention_amx_forward(&place.a);
        else
            j->dev->loops->attention->forward(&place.a);
    }
}

/* ---- gradient ---- */

/* Returns the sums of a unit. */
static float *sums_of(const struct job *j, int head, int unit)
{
    return j->sums + ((int64_t)head * j->st->units + unit) * j->st->sums;
}

/* Adds the gradient of each pair's bias to that of its row of the table. */
static void gather_bias(const struct place *place, float *dst)
{
    const struct attention_state *st = place->j->st;
    const struct window_grid *g = &st->size.grid;
    int keys = attention_keys(place->j->dev->loops->lanes, st->size.tokens);
    const float *src = place->p.dbias;

    for (int i = 0; i < st->size.tokens; i++, src += keys)
        for (int y = 0, j = 0; y < g->window_h; y++) {
            float *row = dst + window_grid_offset(g, i, j);

            for (int x = 0; x < g->window_w; x++, j++)
                row[-x] += src[j];
        }
}

static void grad_unit(struct place *place, int head, int unit, bool more)
{
    const struct job *j = place->j;
    const struct attention_state *st = j->st;
    int64_t tasks = st->size.images * st->size.windows;
    int64_t end = tasks * (unit + 1) / st->units;
    int64_t keys = attention_keys(j->dev->loops->lanes, st->size.tokens);
    float *sums = sums_of(j, head, unit);

    memset(sums, 0, (size_t)st->sums * sizeof(*sums));
    place->a.dbias = NULL;
    if (st->rows && j->s->out[WINDOW_ATTENTION_GRAD_DTABLE]) {
        place->a.dbias = place->p.dbias;
        memset(place->p.dbias, 0, (size_t)(st->size.tokens * keys) * sizeof(float));
    }
    place->a.dscale = j->logit_scale ? sums + st->rows : NULL;
    place->a.dpad = sums + st->rows + 1;
    for (int64_t i = tasks * unit / st->units; i < end; i++) {
        place_task(place, head * tasks + i, more || i + 1 < end);
        if (st->amx)
            attention_amx_grad(&place->a);
        else
            j->dev->loops->attention->grad(&place->a);
    }
    if (place->a.dbias)
        gather_bias(place, sums);
}

/* Element `pos` of a head's sums, over all units. */
static float total(const struct job *j, int head, int64_t pos)
{
    double sum = 0;

    for (int u = 0; u < j->st->units; u++)
        sum += (double)sums_of(j, head, u)[pos];
    return (float)sum;
}

static void grad_totals(const struct job *j, int head)
{
    const struct attention_state *st = j->st;
    const struct window_attention_size *z = &st->size;
    float *dtable = j->s->out[WINDOW_ATTENTION_GRAD_DTABLE];
    float *dlogit = j->s->out[WINDOW_ATTENTION_GRAD_DLOGIT_SCALE];
    float *dpad = j->s->out[WINDOW_ATTENTION_GRAD_DPAD];

    for (int64_t r = 0; dtable && r < st->rows; r++)
        dtable[r * z->heads + head] = total(j, head, r);
    if (dlogit && j->logit_scale)
        dlogit[head] =
            window_attention_clamped(j->logit_scale[head]) ? 0 : total(j, head, st->rows);
    for (int k = 0; dpad && j->pad && k < 3 * z->head; k++)
        dpad[k / z->head * z->channels + head * z->head + k % z->head] =
            total(j, head, st->rows + 1 + k);
}

static void grad_thread(void *arg, int thread)
{
    const struct job *j = arg;
    const struct attention_state *st = j->st;
    struct place place = place_of(j, thread);
    int64_t lo, hi;

    cpu_part((int64_t)st->size.heads * st->units, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t i = lo; i < hi; i++)
        grad_unit(&place, (int)(i / st->units), (int)(i % st->units), i + 1 < hi);
    cpu_barrier();
    cpu_part(st->size.heads, 1, thread, j->dev->threads, &lo, &hi);
    for (int64_t h = lo; h < hi; h++)
        grad_totals(j, (int)h);
}

static const void *option(const struct step *s, enum window_attention_option o)
{
    const struct attention_state *st = s->state;

    return st->option[o] < 0 ? NULL : s->in[st->option[o]];
}

static void attention_run(struct step *s, struct device *dev)
{
    const struct attention_state *st = s->state;
    const struct window_attention_attrs *attrs = s->node->attrs;
    const struct control *c = option(s, WINDOW_ATTENTION_CONTROL);
    struct job j = {
        .dev = dev,
        .s = s,
        .st = st,
        .share = attrs->share,
        .table = option(s, WINDOW_ATTENTION_TABLE),
        .logit_scale = option(s, WINDOW_ATTENTION_LOGIT_SCALE),
        .pad = option(s, WINDOW_ATTENTION_PAD),
        .sums = (float *)s->workspace + st->piece * dev->threads,
    };

    if (c)
        j.key = (struct dropout_key){c->seed, (uint64_t)c->micro, (uint32_t)attrs->salt,
                                     attrs->dropout, 0};
    cpu_parallel(dev, st->gradient ? grad_thread : forward_thread, &j);
}

const struct kernel cpu_window_attention = {
    .name = "cpu window_attention",
    .claim = attention_claim,
    .run = attention_run,
    .state_size = sizeof(struct attention_state),
};
