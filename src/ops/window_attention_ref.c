#include "ops/window_attention_ref.h"

#include <math.h>
#include <string.h>

#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/window_attention.h"
#include "ops/window_attention_formula.h"

enum part { Q, K, V, PARTS };

/*
 * One head of one window of one image, in the scratch: x[Q], x[K], x[V], and d[] are
 * [tokens][head]; p, m, and ds are [tokens], for one query. With cosine attention the
 * rows of x[Q] and x[K] are unit vectors, and norm[][token] are their original norms.
 */
struct view {
    struct window_attention_size size;
    const struct window_attention_attrs *attrs;
    const struct control *control;
    const float *qkv, *dy, *table, *logit_scale, *pad; /* or NULL */
    double scale;
    int64_t image;
    int window, head;
    double *x[PARTS], *d[PARTS], *dout, *norm[2], *p, *m, *ds;
    double *dtable, *dlogit, *dpad; /* summed over windows, for all heads */
};

size_t window_attention_scratch(const struct node *n)
{
    const struct window_attention_size s = window_attention_size(n);
    int64_t rows = (int64_t)s.tokens * (2 * PARTS * s.head + s.head + 2 + 3);
    int64_t sums = ((int64_t)window_grid_offsets(&s.grid) + 1) * s.heads + 3 * s.channels;

    return (size_t)(rows + sums) * sizeof(double);
}

static const void *option(const struct step *s, enum window_attention_option o)
{
    int slot = window_attention_slot(s->node, o);

    return slot < 0 ? NULL : s->in[slot];
}

static double *carve(double **ptr, int64_t n)
{
    double *p = *ptr;

    *ptr += n;
    memset(p, 0, (size_t)n * sizeof(*p));
    return p;
}

static struct view view_of(const struct step *s)
{
    struct view v = {
        .size = window_attention_size(s->node),
        .attrs = s->node->attrs,
        .control = option(s, WINDOW_ATTENTION_CONTROL),
        .qkv = s->in[WINDOW_ATTENTION_QKV],
        .table = option(s, WINDOW_ATTENTION_TABLE),
        .logit_scale = option(s, WINDOW_ATTENTION_LOGIT_SCALE),
        .pad = option(s, WINDOW_ATTENTION_PAD),
    };
    int64_t n = v.size.tokens;
    double *ptr = s->workspace;

    for (int i = 0; i < PARTS; i++) {
        v.x[i] = carve(&ptr, n * v.size.head);
        v.d[i] = carve(&ptr, n * v.size.head);
    }
    v.dout = carve(&ptr, n * v.size.head);
    v.norm[Q] = carve(&ptr, n);
    v.norm[K] = carve(&ptr, n);
    v.p = carve(&ptr, n);
    v.m = carve(&ptr, n);
    v.ds = carve(&ptr, n);
    v.dtable = carve(&ptr, (int64_t)window_grid_offsets(&v.size.grid) * v.size.heads);
    v.dlogit = carve(&ptr, v.size.heads);
    v.dpad = carve(&ptr, 3 * v.size.channels);
    return v;
}

/* Returns the index over all images, or -1 for padding. */
static int64_t pixel(const struct view *v, int token)
{
    int p = window_grid_pixel(&v->size.grid, v->window, token);

    return p < 0 ? -1 : v->image * v->size.pixels + p;
}

/* Returns the offset in qkv of feature c of a pixel's q, k, or v; with pixel 0, in pad. */
static int64_t feature(const struct view *v, int64_t pixel, int part, int c)
{
    return (3 * pixel + part) * v->size.channels + v->head * v->size.head + c;
}

/* Same for y. */
static int64_t result(const struct view *v, int64_t pixel, int c)
{
    return pixel * v->size.channels + v->head * v->size.head + c;
}

/* ---- the scores of one head of one window ---- */

static void gather(struct view *v)
{
    int head = v->size.head;

    for (int i = 0; i < v->size.tokens; i++) {
        int64_t pos = pixel(v, i);

        for (int part = Q; part < PARTS; part++)
            for (int c = 0; c < head; c++)
                v->x[part][i * head + c] = pos >= 0 ? v->qkv[feature(v, pos, part, c)]
                                           : v->pad ? v->pad[feature(v, 0, part, c)]
                                                    : 0;
        for (int c = 0; c < head; c++)
            v->dout[i * head + c] = pos >= 0 && v->dy ? v->dy[result(v, pos, c)] : 0;
    }
}

/* Normalizes q or k of each token to a unit vector. */
static void normalize_rows(struct view *v, int part)
{
    int head = v->size.head;

    for (int i = 0; i < v->size.tokens; i++) {
        double *x = v->x[part] + i * head, sum = 0, norm;

        for (int c = 0; c < head; c++)
            sum += x[c] * x[c];
        norm = sqrt(sum);
        if (norm < (double)WINDOW_ATTENTION_NORM)
            norm = (double)WINDOW_ATTENTION_NORM;
        v->norm[part][i] = norm;
        for (int c = 0; c < head; c++)
            x[c] /= norm;
    }
}

static double dot(const double *x, const double *y, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static double score(const struct view *v, int i, int j)
{
    const struct window_grid *g = &v->size.grid;
    int head = v->size.head;
    double s = v->scale * dot(v->x[Q] + i * head, v->x[K] + j * head, head);

    if (v->table)
        s += v->table[window_grid_offset(g, i, j) * v->size.heads + v->head];
    if (window_grid_region(g, v->window, i) != window_grid_region(g, v->window, j))
        s += (double)WINDOW_ATTENTION_MASK;
    return s;
}

/* Draws m, the dropout factors of the weights of the query at a pixel. */
static void draw(const struct view *v, int64_t pos)
{
    int n = v->size.tokens;

    pos = share_element(v->attrs->share, pos, v->size.pixels);
    for (int j = 0; j < n; j++) {
        struct philox r;

        v->m[j] = 1;
        if (!v->control)
            continue;
        r = window_attention_block(v->control->seed, (uint64_t)v->control->micro,
                                   (uint32_t)v->attrs->salt,
                                   (uint64_t)(pos * v->size.heads + v->head), n, j);
        v->m[j] = dropout_factor(r.v[j % 4], v->attrs->dropout);
    }
}

/* Computes p = softmax(s) of query i, and m; returns the log of sum_j exp s_ij. */
static double softmax_row(const struct view *v, int i, int64_t pos)
{
    int n = v->size.tokens;
    double *p = v->p, top, sum = 0;

    for (int j = 0; j < n; j++)
        p[j] = score(v, i, j);
    top = p[0];
    for (int j = 1; j < n; j++)
        if (p[j] > top)
            top = p[j];
    for (int j = 0; j < n; j++)
        sum += exp(p[j] - top);
    for (int j = 0; j < n; j++)
        p[j] = exp(p[j] - top) / sum;
    draw(v, pos);
    return top + log(sum);
}

static void window_begin(struct view *v)
{
    gather(v);
    v->scale = (double)v->attrs->scale;
    if (!v->logit_scale)
        return;
    normalize_rows(v, Q);
    normalize_rows(v, K);
    v->scale = window_attention_scale(v->logit_scale[v->head]);
}

/* Runs fn on each head of each window of each image. */
static void each(struct view *v, const struct step *s,
                 void (*fn)(struct view *v, const struct step *s))
{
    for (v->image = 0; v->image < v->size.images; v->image++)
        for (v->window = 0; v->window < v->size.windows; v->window++)
            for (v->head = 0; v->head < v->size.heads; v->head++) {
                window_begin(v);
                fn(v, s);
            }
}

/* ---- forward ---- */

static void attend(struct view *v, const struct step *s)
{
    float *y = s->out[WINDOW_ATTENTION_Y], *lse = s->out[WINDOW_ATTENTION_LSE];
    int n = v->size.tokens, head = v->size.head;

    for (int i = 0; i < n; i++) {
        int64_t pos = pixel(v, i);

        if (pos < 0)
            continue;
        lse[pos * v->size.heads + v->head] = (float)softmax_row(v, i, pos);
        for (int c = 0; c < head; c++) {
            double sum = 0;

            for (int j = 0; j < n; j++)
                sum += v->p[j] * v->m[j] * v->x[V][j * head + c];
            y[result(v, pos, c)] = (float)sum;
        }
    }
}

void window_attention_ref(const struct step *s)
{
    struct view v = view_of(s);

    each(&v, s, attend);
}

/* ---- gradient ---- */

/*
 * a = p m, da = dy v, ds = p (m da - sum over j of p m da). `lse` of the forward pass is
 * not needed here: kernels use it to compute p without a maximum.
 */
static void score_grad(struct view *v, int i)
{
    int n = v->size.tokens, head = v->size.head;
    double *ds = v->ds, mean = 0;
    const double *p = v->p, *m = v->m;

    for (int j = 0; j < n; j++) {
        ds[j] = m[j] * dot(v->dout + i * head, v->x[V] + j * head, head);
        mean += p[j] * ds[j];
    }
    for (int j = 0; j < n; j++) {
        ds[j] = p[j] * (ds[j] - mean);
        v->dlogit[v->head] +=
            ds[j] * v->scale * dot(v->x[Q] + i * head, v->x[K] + j * head, head);
        v->dtable[window_grid_offset(&v->size.grid, i, j) * v->size.heads + v->head] +=
            ds[j];
    }
}

/* Adds the contribution of query i to all gradients. */
static void query_grad(struct view *v, int i)
{
    int n = v->size.tokens, head = v->size.head;

    score_grad(v, i);
    for (int j = 0; j < n; j++) {
        double ds = v->scale * v->ds[j], a = v->p[j] * v->m[j];

        for (int c = 0; c < head; c++) {
            v->d[Q][i * head + c] += ds * v->x[K][j * head + c];
            v->d[K][j * head + c] += ds * v->x[Q][i * head + c];
            v->d[V][j * head + c] += a * v->dout[i * head + c];
        }
    }
}

/*
 * Computes the gradient of q from d, that of the unit vector u = q / norm: (d - u (u .
 * d)) / norm, or d / norm if the norm was raised to its minimum.
 */
static void from_direction(struct view *v, int part, int token)
{
    int head = v->size.head;
    double *d = v->d[part] + token * head, *u = v->x[part] + token * head;
    double norm = v->norm[part][token], along = dot(d, u, head);

    if (!(norm > (double)WINDOW_ATTENTION_NORM))
        along = 0;
    for (int c = 0; c < head; c++)
        d[c] = (d[c] - u[c] * along) / norm;
}

static void window_grad(struct view *v, const struct step *s)
{
    float *dqkv = s->out[WINDOW_ATTENTION_GRAD_DQKV];
    int n = v->size.tokens, head = v->size.head;

    for (int part = Q; part < PARTS; part++)
        memset(v->d[part], 0, (size_t)(n * head) * sizeof(double));
    for (int i = 0; i < n; i++) {
        int64_t pos = pixel(v, i);

        if (pos < 0)
            continue;
        (void)softmax_row(v, i, pos);
        query_grad(v, i);
    }
    for (int i = 0; i < n; i++)
        for (int part = Q; part < PARTS; part++) {
            int64_t pos = pixel(v, i);

            if (part != V && v->logit_scale)
                from_direction(v, part, i);
            for (int c = 0; c < head; c++) {
                double d = v->d[part][i * head + c];

                if (pos >= 0)
                    dqkv[feature(v, pos, part, c)] = (float)d;
                else
                    v->dpad[feature(v, 0, part, c)] += d;
            }
        }
}

static void narrow(const double *src, float *dst, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dst[i] = (float)src[i];
}

void window_attention_grad_ref(const struct step *s)
{
    struct view v = view_of(s);
    int heads = v.size.heads;

    v.dy = s->in[WINDOW_ATTENTION_GRAD_DY];
    each(&v, s, window_grad);
    for (int h = 0; v.logit_scale && h < heads; h++)
        if (window_attention_clamped(v.logit_scale[h]))
            v.dlogit[h] = 0;
    if (v.table)
        narrow(v.dtable, s->out[WINDOW_ATTENTION_GRAD_DTABLE],
               (int64_t)window_grid_offsets(&v.size.grid) * heads);
    if (v.logit_scale)
        narrow(v.dlogit, s->out[WINDOW_ATTENTION_GRAD_DLOGIT_SCALE], heads);
    if (v.pad)
        narrow(v.dpad, s->out[WINDOW_ATTENTION_GRAD_DPAD], 3 * v.size.channels);
}
