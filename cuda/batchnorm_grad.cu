/*
 * The sums of batch norm backward (ops/batchnorm_parts.h), fused with the ops before
 * them: the sum of two gradients and the slope of an activation.
 *
 *   dz = (g + g2) slope;  dbias = sum dz;  dweight = rstd sum dz (x - mean)
 *   dx = dz dy_scale + x x_scale + offset           (cuda/batchnorm_dx.cu)
 *
 * The slope is never stored. Directly after a batch norm it follows from the batch norm's
 * output, which this pass and dx recompute from x; after an add, from the bits that the
 * forward pass stored, or from what the activation's gradient reads, which is kept anyway. If
 * dz has other readers (the shortcut), or if recomputing it costs two more reads, this pass
 * stores it and dx reads it.
 *
 * Two launches: the first reads x and g once (and g2 and y) and sums in fp32 over some
 * dozens of rows per thread and over the block; the second adds the blocks' sums in fp64,
 * in a fixed order, and writes dweight, dbias, and the factors of dx.
 */
#include "cuda/activation.h"
#include "cuda/batchnorm_grad.h"
#include "cuda/kernels.h"
#include "cuda/relu_bits.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"
#include "ops/dropout.h"
#include "ops/relu_bits.h"

extern "C" { /* this header is C only */
#include "base/strbuf.h"
}

/* What the first pass does in addition to reading x and g. */
enum {
    MASK_NONE,
    MASK_X,    /* activation directly after the batch norm */
    MASK_Y,    /* activation after an add */
    MASK_BITS, /* relu with bits after an add */
    MASK = 3,
    SUM = 4,    /* g + g2 */
    STORE = 8,  /* write dz */
    DROP = 16,  /* a dropout2d after dz: masks dz before it is summed */
    OTHER = 32, /* the activation is no relu */
    ANY = -1    /* known only at run time */
};

template <class T> struct grad_args {
    const T *x, *g, *g2, *y;
    const uint8_t *bits;
    T *dz;
    const float *mean, *scale, *shift;
    fused_act act;
    channel_mask mask;
};

/* The sums of one block for all channels: [chunks][channels] each. */
struct grad_partial {
    float *sum, *dot;
};

template <class T, int N, int FLAGS>
__global__ void __launch_bounds__(TILE_THREADS, 2)
    batchnorm_grad_stats(grad_args<T> a, grad_partial dst, tile t, int chunks, int any)
{
    const int flags = FLAGS == ANY ? any : FLAGS, mask = flags & MASK;
    constexpr bool WHOLE = FLAGS != ANY, TIGHT = (FLAGS & SUM) && (FLAGS & DROP);
    constexpr int UNROLL = !WHOLE || N == 1 || TIGHT ? 1 : FLAGS & SUM ? 2 : 4;
    __shared__ __align__(16) float shared[TILE_THREADS * N];
    int chunk = (int)blockIdx.x / t.tiles;
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    int64_t row = (int64_t)chunk * t.high + p.row, step = (int64_t)chunks * t.high;
    float sum[N] = {}, dot[N] = {}, mean[N], scale[N], shift[N];
    masked<N> drop;

    if (p.valid && row < t.rows) {
        int64_t pos = row * t.channels + p.channel, jump = step * t.channels;
        int64_t left = (t.rows - row + step - 1) / step;

        table_load<N>(a.mean + p.channel, mean);
        if (mask == MASK_X) {
            table_load<N>(a.scale + p.channel, scale);
            table_load<N>(a.shift + p.channel, shift);
        }
        while (left > 0) {
            pack<T, N> x[UNROLL], g[UNROLL], g2[UNROLL], y[UNROLL];
            unsigned bits[UNROLL];

            UNROLL_WHOLE
            for (int u = 0; u < UNROLL; u++)
                if (u < left) {
                    x[u] = pack_load<N>(a.x + pos + u * jump);
                    g[u] = pack_load<N>(a.g + pos + u * jump);
                    if (flags & SUM)
                        g2[u] = pack_load<N>(a.g2 + pos + u * jump);
                    if (mask == MASK_Y)
                        y[u] = pack_load<N>(a.y + pos + u * jump);
                    if (mask == MASK_BITS)
                        bits[u] = relu_bits_load<N>(a.bits, pos + u * jump);
                }
            UNROLL_WHOLE
            for (int u = 0; u < UNROLL; u++)
                if (u < left) {
                    if (flags & DROP)
                        drop.advance(a.mask, row + u * step, t.channels, p.channel);
                    UNROLL_WHOLE
                    for (int i = 0; i < N; i++) {
                        float dz = g[u].get(i), v = x[u].get(i);

                        if (flags & SUM)
                            dz += g2[u].get(i);
                        if (mask == MASK_X && (flags & OTHER))
                            dz = act_slope_at<true>(
                                a.act, batchnorm_value(v, scale[i], shift[i]), dz);
                        else if (mask == MASK_X)
                            dz = act_slope_at<false>(
                                a.act, batchnorm_value(v, scale[i], shift[i]), dz);
                        if (mask == MASK_Y)
                            dz = flags & OTHER ? act_slope<true>(a.act, y[u].get(i), dz)
                                               : act_slope<false>(a.act, y[u].get(i), dz);
                        if (mask == MASK_BITS && !(bits[u] >> i & 1))
                            dz = 0;
                        if (flags & STORE) {
                            g[u].set(i, dz);
                            dz = g[u].get(i); /* the value that the second pass reads */
                        }
                        if (flags & DROP)
                            dz *= drop.factor[i];
                        sum[i] += dz;
                        dot[i] += dz * (v - mean[i]);
                    }
                    if (flags & STORE)
                        pack_store<T, N>(a.dz + pos + u * jump, g[u]);
                }
            left -= UNROLL;
            row += UNROLL * step;
            pos += UNROLL * jump;
        }
    }

    float s = tile_sum<N>(t, p, sum, shared), d = tile_sum<N>(t, p, dot, shared);
    int c = p.tile * t.wide * N + (int)threadIdx.x;

    if ((int)threadIdx.x < t.wide * N && c < t.channels) {
        dst.sum[(int64_t)chunk * t.channels + c] = s;
        dst.dot[(int64_t)chunk * t.channels + c] = d;
    }
}

/* Inputs and outputs of the second launch; outputs may be NULL. rstd NULL: computed from
 * var. */
struct grad_finals {
    const float *weight, *mean, *rstd, *var;
    float eps;
    float *dweight, *dbias, *dy_scale, *x_scale, *offset;
};

__global__ void __launch_bounds__(COMBINE_THREADS)
    batchnorm_grad_combine(grad_partial start, grad_finals f, tile t, int chunks)
{
    int c = (int)blockIdx.x * COMBINE_CHANNELS + (int)threadIdx.x % COMBINE_CHANNELS;
    double sum = 0, dot = 0, n = (double)t.rows;

    if (c < t.channels)
        for (int i = (int)threadIdx.x / COMBINE_CHANNELS; i < chunks;
             i += COMBINE_THREADS / COMBINE_CHANNELS) {
            sum += start.sum[(int64_t)i * t.channels + c];
            dot += start.dot[(int64_t)i * t.channels + c];
        }
    sum = combine_sum(sum);
    dot = combine_sum(dot);
    if ((int)threadIdx.x >= COMBINE_CHANNELS || c >= t.channels)
        return;

    float rstd = f.rstd ? f.rstd[c] : batchnorm_rstd(f.var[c], f.eps);
    double dweight = dot * (double)rstd;

    if (f.dweight)
        f.dweight[c] = (float)dweight;
    if (f.dbias)
        f.dbias[c] = (float)sum;
    if (!f.weight)
        return;

    struct batchnorm_dx_terms d =
        batchnorm_dx_of(f.weight[c], rstd, f.mean[c], dweight / n, sum / n);

    if (f.dy_scale)
        f.dy_scale[c] = d.dy_scale;
    if (f.x_scale)
        f.x_scale[c] = d.x_scale;
    if (f.offset)
        f.offset[c] = d.offset;
}

/* ---- the ops that are fused before the gradient ---- */

/* Returns the apply whose output goes through the activation with this gradient, if x is
 * its input. */
static struct node *find_apply(const struct node *grad, const struct tensor *x)
{
    struct node *act = grad->in[ACTIVATION_GRAD_Y]->producer, *apply = act;

    if (activation_grad_of(grad)->from_y) {
        if (!act || activation_of(act) != activation_grad_of(grad))
            return nullptr;
        apply = act->in[ACTIVATION_X]->producer;
    }
    return apply && apply->op == &op_batchnorm_apply && apply->in[BATCHNORM_APPLY_X] == x
               ? apply
               : nullptr;
}

void grad_front_find(grad_front *f, const struct graph *g, struct tensor *dz,
                     struct tensor *x)
{
    struct node *p = dz->producer, *apply;

    *f = {};
    f->g = dz;
    if (p && relu_bits_are(p, &op_relu_bits_grad, RELU_BITS_PLAIN) && node_free(p)) {
        f->act = p;
        f->bits = true;
        f->y = p->in[RELU_BITS_GRAD_BITS];
        f->g = p->in[RELU_BITS_GRAD_DY];
    } else if (p && activation_grad_of(p) && node_free(p)) {
        f->act = p;
        f->y = p->in[ACTIVATION_GRAD_Y];
        f->g = p->in[ACTIVATION_GRAD_DY];
        apply = find_apply(p, x);
        if (apply) {
            f->scale = apply->in[BATCHNORM_APPLY_SCALE];
            f->shift = apply->in[BATCHNORM_APPLY_SHIFT];
        }
    }
    p = f->g->producer;
    if (p && p->op == &op_add && p->nin == 2 && node_free(p) &&
        (!f->act || tensor_only_reader(g, f->g))) {
        f->add = p;
        f->g = p->in[0];
        f->g2 = p->in[1];
    }
}

/* True if dz has no readers but the two gradient kernels of x's batch norm. */
static bool only_gradients(const struct graph *g, const struct tensor *dz,
                           const struct tensor *x)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, dz, i)) != nullptr; i++)
        if (!(n->op == &op_batchnorm_grad_apply && n->in[BATCHNORM_GRAD_APPLY_X] == x) &&
            !(n->op == &op_batchnorm_grad_stats && n->in[BATCHNORM_GRAD_STATS_X] == x))
            return false;
    return !dz->root;
}

struct node *grad_drop_find(const struct graph *g, const struct tensor *dz,
                            const struct tensor *x)
{
    struct node *p = dz->producer;

    return p && p->op == &op_dropout2d && node_free(p) &&
                   p->in[DROPOUT_X]->dtype == dz->dtype && only_gradients(g, dz, x)
               ? p
               : nullptr;
}

bool grad_front_one_type(const grad_front *f, const struct tensor *x)
{
    return f->g->dtype == x->dtype && (!f->g2 || f->g2->dtype == x->dtype) &&
           (!f->y || f->bits || f->y->dtype == x->dtype);
}

bool grad_front_again(const struct graph *g, const grad_front *f, const struct tensor *dz,
                      const struct tensor *x)
{
    return f->act && !f->add && f->scale && only_gradients(g, dz, x);
}

/* ---- sums ---- */

struct grad_state {
    tile t;
    int chunks, flags;
    fused_act act;
    float eps;
    bool fixed;                 /* fixed statistics: no dx terms */
    int x, weight, mean, rstd;  /* indices of reads; rstd: var, if fixed */
    int g, g2, y, scale, shift; /* indices of reads, or -1; y: or the bits */
    int dz;                     /* index of a write, or -1 */
    const struct node *drop;    /* may be NULL */
    int control;                /* index of a read, with drop */
};

static bool is_stats(const struct node *n)
{
    return n->op == &op_batchnorm_grad_stats ||
           n->op == &op_batchnorm_inference_weight_grad;
}

/* True if dz has readers outside region r, which otherwise recomputes it for n. */
static bool dz_wanted(const struct graph *g, const struct tensor *dz,
                      const struct node *n)
{
    const struct node *reader;

    if (dz->root || dz->claimed_reads > 0)
        return true;
    for (int i = 0; (reader = tensor_reader(g, dz, i)) != nullptr; i++)
        if (reader != n && node_free(reader))
            return true;
    return false;
}

static void read_channels(struct region *r, grad_state *st, struct node *n)
{
    st->fixed = n->op == &op_batchnorm_inference_weight_grad;
    if (st->fixed) {
        st->eps = ((const struct batchnorm_attrs *)n->attrs)->eps;
        st->weight = -1;
        st->mean = region_read(r, n->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_MEAN]);
        st->rstd = region_read(r, n->in[BATCHNORM_INFERENCE_WEIGHT_GRAD_VAR]);
        return;
    }
    st->weight = region_read(r, n->in[BATCHNORM_GRAD_STATS_WEIGHT]);
    st->mean = region_read(r, n->in[BATCHNORM_GRAD_STATS_MEAN]);
    st->rstd = region_read(r, n->in[BATCHNORM_GRAD_STATS_RSTD]);
}

static const char *grad_stats_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *dev)
{
    grad_state *st = (grad_state *)region_state(r);
    grad_front f;

    if (!is_stats(n))
        return "not the gradient of a batch norm's weights";

    struct tensor *x = n->in[BATCHNORM_GRAD_STATS_X], *dz = n->in[n->nin - 1];
    struct node *drop = grad_drop_find(g, dz, x);

    if (drop)
        dz = drop->in[DROPOUT_X];

    bool wanted = dz_wanted(g, dz, drop ? drop : n);

    grad_front_find(&f, g, dz, x);
    if (dz->dtype != x->dtype || !grad_front_one_type(&f, x))
        return "one type for all";

    st->t = tile_of_image(x);
    st->chunks = tile_chunks(st->t, dev->what.multiprocessors * GRAD_BLOCKS);
    st->act = fused_act_of(f.act);
    st->flags = (f.scale  ? MASK_X
                 : f.bits ? MASK_BITS
                 : f.act  ? MASK_Y
                          : MASK_NONE) |
                (f.add ? SUM : 0) | ((f.act || f.add) && wanted ? STORE : 0) |
                (drop ? DROP : 0) | (st->act.kind == FUSED_OTHER ? OTHER : 0);
    region_claim(r, n);
    st->drop = drop;
    if (drop) {
        region_claim(r, drop);
        st->control = region_read(r, drop->in[DROPOUT_CONTROL]);
    }
    if (f.act)
        region_claim(r, f.act);
    if (f.add)
        region_claim(r, f.add);
    st->x = region_read(r, x);
    read_channels(r, st, n);
    st->g = region_read(r, f.g);
    st->g2 = f.g2 ? region_read(r, f.g2) : -1;
    st->y = f.act && !f.scale ? region_read(r, f.y) : -1;
    st->scale = f.scale ? region_read(r, f.scale) : -1;
    st->shift = f.scale ? region_read(r, f.shift) : -1;
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    st->dz = st->flags & STORE ? region_write(r, dz) : -1;
    if (st->dz >= 0)
        region_inplace(r, st->dz, st->g);
    region_workspace(r, 2 * sizeof(float) * (size_t)st->chunks * (size_t)st->t.channels);
    return nullptr;
}

template <class T> static grad_args<T> args_of(const struct step *s, const grad_state *st)
{
    auto in = [s](int i) { return i < 0 ? nullptr : s->in[i]; };

    return {.x = (const T *)in(st->x),
            .g = (const T *)in(st->g),
            .g2 = (const T *)in(st->g2),
            .y = (const T *)in(st->y),
            .bits = (const uint8_t *)in(st->y),
            .dz = st->dz < 0 ? nullptr : (T *)s->out[st->dz],
            .mean = (const float *)in(st->mean),
            .scale = (const float *)in(st->scale),
            .shift = (const float *)in(st->shift),
            .act = st->act,
            .mask = st->drop
                        ? channel_mask_of(st->drop, s->in_tensor[st->x], in(st->control))
                        : channel_mask{}};
}

static grad_finals finals_of(const struct step *s, const grad_state *st)
{
    float **out = (float **)s->out;
    grad_finals f = {};

    f.mean = (const float *)s->in[st->mean];
    if (st->fixed) {
        f.var = (const float *)s->in[st->rstd];
        f.eps = st->eps;
        f.dweight = out[BATCHNORM_INFERENCE_DWEIGHT];
        f.dbias = out[BATCHNORM_INFERENCE_DBIAS];
        return f;
    }
    f.weight = (const float *)s->in[st->weight];
    f.rstd = (const float *)s->in[st->rstd];
    f.dweight = out[BATCHNORM_GRAD_STATS_DWEIGHT];
    f.dbias = out[BATCHNORM_GRAD_STATS_DBIAS];
    f.dy_scale = out[BATCHNORM_GRAD_STATS_DY_SCALE];
    f.x_scale = out[BATCHNORM_GRAD_STATS_X_SCALE];
    f.offset = out[BATCHNORM_GRAD_STATS_OFFSET];
    return f;
}

/* With packed channels, the cases of our models have kernels compiled for them. */
#define GRAD_CASES(CASE)                                                                 \
    CASE(MASK_NONE)              /* no relu: batch norm of a shortcut */                 \
    CASE(MASK_X)                 /* inside a block */                                    \
    CASE((MASK_X | OTHER))       /* the same with SiLU and the like */                   \
    CASE((MASK_X | SUM | STORE)) /* ERFNet: batch norm, relu, then a block */            \
    CASE((MASK_BITS | STORE))       /* the end of a block with one gradient */           \
    CASE((MASK_BITS | SUM | STORE)) /* the end of a block */                             \
    CASE((MASK_BITS | STORE | DROP))                                                     \
    CASE((MASK_BITS | SUM | STORE | DROP))

static void grad_stats_describe(const struct step *s, struct strbuf *text)
{
    const grad_state *st = (const grad_state *)s->state;

#define CASE(which)                                                                      \
    case which:                                                                          \
        return;
    switch (st->flags) {
        GRAD_CASES(CASE)
    }
#undef CASE
    if (st->t.channels % (16 / (int)dtype_size(s->in_tensor[st->x]->dtype)) == 0)
        strbuf_addstr(text, "the loop for all cases");
}

template <class T, int N>
static void grad_stats_launch(const struct step *s, struct device *dev,
                              const grad_state *st, grad_partial dst)
{
    grad_args<T> a = args_of<T>(s, st);
    unsigned grid = (unsigned)(st->t.tiles * st->chunks);

#define CASE(which)                                                                      \
    case which:                                                                          \
        LAUNCH(dev, (batchnorm_grad_stats<T, N, which>), grid, TILE_THREADS, 0, a, dst,  \
               st->t, st->chunks, st->flags);                                            \
        return;

    if constexpr (N > 1)
        switch (st->flags) {
            GRAD_CASES(CASE)
        }
#undef CASE
    LAUNCH(dev, (batchnorm_grad_stats<T, N, ANY>), grid, TILE_THREADS, 0, a, dst, st->t,
           st->chunks, st->flags);
}

static void grad_stats_run(struct step *s, struct device *dev)
{
    const grad_state *st = (const grad_state *)s->state;
    float *space = (float *)s->workspace;
    grad_partial p = {space, space + (int64_t)st->chunks * st->t.channels};

    WITH_DTYPE(s->in_tensor[st->x]->dtype, T,
               WITH_PACK(T, st->t.channels, N, grad_stats_launch<T, N>(s, dev, st, p)));
    LAUNCH(dev, batchnorm_grad_combine, combine_blocks(st->t.channels), COMBINE_THREADS,
           0, p, finals_of(s, st), st->t, st->chunks);
}

extern const struct kernel cuda_batchnorm_grad_stats = {
    .name = "cuda batchnorm gradient sums",
    .claim = grad_stats_claim,
    .run = grad_stats_run,
    .state_size = sizeof(grad_state),
    .describe = grad_stats_describe,
};
