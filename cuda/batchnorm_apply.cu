/*
 * Batch norm's y, fused with the ops after it: [dropout2d] [+ residual | + a second batch
 * norm] [+ activation]: y = act(m (x scale + shift) + r). The mask m is redrawn whenever a
 * thread's rows enter another sample. A relu after a sum may also store where its gradient
 * passes, as bits (ops/relu_bits.h).
 *
 * Bytes: x, r, and y once. Blocks run from the end of the tensor to its start, because
 * the statistics read the end last and it is still in L2. With fixed statistics, each
 * thread folds them into scale and shift for its channels. Their data gradient is the
 * same computation without a shift.
 */
#include "cuda/activation.h"
#include "cuda/batchnorm.h"
#include "cuda/kernels.h"
#include "cuda/relu_bits.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"
#include "ops/dropout.h"
#include "ops/relu_bits.h"

/* A channel's scale and shift: read from tables, or folded from the parameters. */
struct affine {
    const float *scale, *shift;
    const float *weight, *bias, *mean, *var; /* bias NULL: no shift */
    float eps;
};

/* Loads channels c to c + N - 1. */
template <int N>
__device__ static inline void affine_load(const affine &a, int c, float *scale,
                                          float *shift)
{
    float mean[N], bias[N];

    if (a.scale) {
        table_load<N>(a.scale + c, scale);
        table_load<N>(a.shift + c, shift);
        return;
    }
    table_load<N>(a.weight + c, scale);
    table_load<N>(a.var + c, shift);
    for (int i = 0; i < N; i++) {
        scale[i] = batchnorm_scale(scale[i], batchnorm_rstd(shift[i], a.eps));
        shift[i] = 0;
    }
    if (!a.bias)
        return;
    table_load<N>(a.mean + c, mean);
    table_load<N>(a.bias + c, bias);
    for (int i = 0; i < N; i++)
        shift[i] = batchnorm_shift(bias[i], mean[i], scale[i]);
}

enum residual { RESIDUAL_NONE, RESIDUAL_TENSOR, RESIDUAL_NORM, RESIDUAL_DROPPED };

/* The activation: none or a relu, a relu with bits (of packs of 8), or another one. */
enum apply_end { END_RELU, END_BITS, END_OTHER };

enum { APPLY_EACH = 8 }; /* rows per thread */

template <class T, int N, int RESIDUAL, int END>
__global__ void __launch_bounds__(TILE_THREADS, 3)
    batchnorm_apply(const T *x, affine ax, const T *r, affine ar, channel_mask m, T *y,
                    uint8_t *bits, tile t, fused_act act)
{
    enum { UNROLL = RESIDUAL == RESIDUAL_NONE ? 4 : 2 };
    int block = (int)(gridDim.x - 1 - blockIdx.x);
    place p = place_of<N>(t, block % t.tiles);
    int64_t row = (int64_t)(block / t.tiles) * t.high * APPLY_EACH + p.row;
    int64_t pos = row * t.channels + p.channel, jump = (int64_t)t.high * t.channels;
    float scale[N], shift[N], r_scale[N], r_shift[N];
    masked<N> mask;

    if (!p.valid)
        return;
    affine_load<N>(ax, p.channel, scale, shift);
    if (RESIDUAL == RESIDUAL_NORM)
        affine_load<N>(ar, p.channel, r_scale, r_shift);
    for (int e = 0; e < APPLY_EACH; e += UNROLL) {
        pack<T, N> a[UNROLL], b[UNROLL];

        UNROLL_WHOLE
        for (int u = 0; u < UNROLL; u++)
            if (row + (int64_t)(e + u) * t.high < t.rows) {
                a[u] = pack_load<N>(x + pos + (e + u) * jump);
                if (RESIDUAL != RESIDUAL_NONE)
                    b[u] = pack_load<N>(r + pos + (e + u) * jump);
            }
        UNROLL_WHOLE
        for (int u = 0; u < UNROLL; u++)
            if (row + (int64_t)(e + u) * t.high < t.rows) {
                if (RESIDUAL == RESIDUAL_DROPPED)
                    mask.advance(m, row + (int64_t)(e + u) * t.high, t.channels,
                                 p.channel);
                UNROLL_WHOLE
                for (int i = 0; i < N; i++) {
                    float v = batchnorm_value(a[u].get(i), scale[i], shift[i]);

                    if (RESIDUAL == RESIDUAL_DROPPED)
                        v *= mask.factor[i];
                    if (RESIDUAL == RESIDUAL_TENSOR || RESIDUAL == RESIDUAL_DROPPED)
                        v += b[u].get(i);
                    if (RESIDUAL == RESIDUAL_NORM)
                        v += batchnorm_value(b[u].get(i), r_scale[i], r_shift[i]);
                    a[u].set(i, act_value<END == END_OTHER>(act, v));
                }
                pack_store<T, N>(y + pos + (e + u) * jump, a[u]);
                if constexpr (END == END_BITS)
                    bits[(pos + (e + u) * jump) / 8] = relu_bits_of(a[u], act.m);
            }
    }
}

/* Indices of one batch norm's tensors among the reads. */
struct operand {
    int x, scale, shift;         /* tables; scale -1: folded */
    int weight, bias, mean, var; /* or -1 */
    float eps;
};

struct apply_state {
    tile t;
    operand n[2];
    int nnorm, residual;
    int bits; /* index of a write, or -1 */
    fused_act act;
    const struct node *drop; /* may be NULL */
    int control;             /* index of a read, with drop */
};

struct match {
    struct node *act, *add, *drop, *apply[2];
    int napply;
    struct tensor *residual;
};

static bool is_apply(const struct node *n)
{
    return n->op == &op_batchnorm_apply || n->op == &op_batchnorm_inference_data_grad;
}

static bool find_add(match *f, const struct graph *g, struct node *add)
{
    if (add->nin != 2 || add->in[0] == add->in[1] || !node_free(add))
        return false;
    f->add = add;
    for (int i = 0; i < 2; i++) {
        struct node *p = sole_producer(g, add->in[i], &op_batchnorm_apply);
        struct node *drop =
            p || f->drop ? nullptr : sole_producer(g, add->in[i], &op_dropout2d);

        if (drop) {
            p = sole_producer(g, drop->in[DROPOUT_X], &op_batchnorm_apply);
            f->drop = p ? drop : nullptr;
        }
        if (p && !(f->napply && p == f->apply[0]))
            f->apply[f->napply++] = p;
        else
            f->residual = add->in[i];
    }
    return f->napply > 0 && !(f->drop && f->napply > 1);
}

/* Matches from an activation, an add, or an apply down to the applies. */
static bool find_applies(match *f, const struct graph *g, struct node *n)
{
    struct node *before = n;

    if (activation_of(n) || relu_bits_are(n, &op_relu_bits, RELU_BITS_PLAIN)) {
        f->act = n;
        before = last_producer(g, n->in[ACTIVATION_X], n, nullptr);
        if (!before)
            return false;
    }
    if (before->op == &op_add)
        return find_add(f, g, before);
    if (f->act && n->op == &op_relu_bits)
        return false; /* its gradient recomputes y */
    if (f->act ? before->op != &op_batchnorm_apply : !is_apply(before))
        return false;
    f->apply[f->napply++] = before;
    return true;
}

static operand claim_data_grad(struct region *r, struct node *n)
{
    operand m = {.scale = -1, .bias = -1, .mean = -1};

    m.x = region_read(r, n->in[BATCHNORM_INFERENCE_DATA_GRAD_DY]);
    m.weight = region_read(r, n->in[BATCHNORM_INFERENCE_DATA_GRAD_WEIGHT]);
    m.var = region_read(r, n->in[BATCHNORM_INFERENCE_DATA_GRAD_VAR]);
    m.eps = ((const struct batchnorm_attrs *)n->attrs)->eps;
    return m;
}

static operand claim_norm(struct region *r, struct node *n)
{
    struct node *fold;
    operand m = {.scale = -1};

    region_claim(r, n);
    if (n->op == &op_batchnorm_inference_data_grad)
        return claim_data_grad(r, n);
    fold = n->in[BATCHNORM_APPLY_SCALE]->producer;
    m.x = region_read(r, n->in[BATCHNORM_APPLY_X]);
    if (!fold || fold->op != &op_batchnorm_fold ||
        fold != n->in[BATCHNORM_APPLY_SHIFT]->producer) {
        m.scale = region_read(r, n->in[BATCHNORM_APPLY_SCALE]);
        m.shift = region_read(r, n->in[BATCHNORM_APPLY_SHIFT]);
        return m;
    }
    region_duplicate(r, fold);
    m.weight = region_read(r, fold->in[BATCHNORM_FOLD_WEIGHT]);
    m.bias = region_read(r, fold->in[BATCHNORM_FOLD_BIAS]);
    m.mean = region_read(r, fold->in[BATCHNORM_FOLD_MEAN]);
    m.var = region_read(r, fold->in[BATCHNORM_FOLD_VAR]);
    m.eps = ((const struct batchnorm_part_attrs *)fold->attrs)->eps;
    return m;
}

static const char *apply_claim(struct region *r, struct graph *g, struct node *n,
                               struct device *)
{
    apply_state *st = (apply_state *)region_state(r);
    match f = {};
    const struct tensor *y = n->out[0];
    bool bits = n->op == &op_relu_bits && tensor_stored(g, n->out[RELU_BITS_BITS], nullptr);

    if (!find_applies(&f, g, n))
        return "not a batch norm, nor an add or an activation directly after one";
    for (int i = 0; i < f.napply; i++)
        for (int k = 0; k < f.apply[i]->nin; k++)
            if (tensor_same(f.apply[i]->in[k], y) && f.apply[i]->in[k]->dtype != y->dtype)
                return "types differ";
    if (f.drop && f.drop->out[0]->dtype != y->dtype)
        return "types differ";
    if (f.residual && f.residual->dtype != y->dtype)
        return "the shortcut has another type";
    if (fused_act_of(f.act).kind == FUSED_OTHER && (f.drop || f.napply > 1))
        return "relu only after a dropout or two batch norms";

    st->t = bits ? tile_of(image_rows(y), y->dim[1], 8) : tile_of_image(y);
    st->nnorm = f.napply;
    for (int i = 0; i < f.napply; i++)
        st->n[i] = claim_norm(r, f.apply[i]);
    if (f.drop) {
        st->drop = f.drop;
        region_claim(r, f.drop);
        st->control = region_read(r, f.drop->in[DROPOUT_CONTROL]);
    }
    if (f.add)
        region_claim(r, f.add);
    st->act = fused_act_of(f.act);
    if (f.act)
        region_claim(r, f.act);
    st->residual = f.residual ? region_read(r, f.residual) : -1;
    region_inplace(r, region_write(r, n->out[0]), st->n[0].x);
    st->bits = bits ? region_write(r, n->out[RELU_BITS_BITS]) : -1;
    return nullptr;
}

channel_mask channel_mask_of(const struct node *drop, const struct tensor *x,
                             const void *control)
{
    const struct dropout_attrs *a = (const struct dropout_attrs *)drop->attrs;

    return {(const struct control *)control, (uint32_t)a->salt, a->rate,
            x->dim[2] * x->dim[3], a->share};
}

static affine affine_of(const struct step *s, const operand *m)
{
    affine a = {};

    if (m->scale >= 0) {
        a.scale = (const float *)s->in[m->scale];
        a.shift = (const float *)s->in[m->shift];
        return a;
    }
    a.weight = (const float *)s->in[m->weight];
    a.var = (const float *)s->in[m->var];
    a.bias = m->bias < 0 ? nullptr : (const float *)s->in[m->bias];
    a.mean = m->mean < 0 ? nullptr : (const float *)s->in[m->mean];
    a.eps = m->eps;
    return a;
}

struct apply_args {
    const void *x, *r;
    affine ax, ar;
    channel_mask mask;
    void *y;
    uint8_t *bits; /* may be NULL */
};

static apply_args args_of(const struct step *s, const apply_state *st)
{
    apply_args a = {};

    a.x = s->in[st->n[0].x];
    a.ax = affine_of(s, &st->n[0]);
    a.y = s->out[0];
    if (st->nnorm > 1) {
        a.r = s->in[st->n[1].x];
        a.ar = affine_of(s, &st->n[1]);
    } else if (st->residual >= 0) {
        a.r = s->in[st->residual];
    }
    if (st->drop)
        a.mask = channel_mask_of(st->drop, s->out_tensor[0], s->in[st->control]);
    if (st->bits >= 0)
        a.bits = (uint8_t *)s->out[st->bits];
    return a;
}

#define APPLY(residual, end)                                                             \
    LAUNCH(dev, (batchnorm_apply<T, N, residual, end>), grid, TILE_THREADS, 0,           \
           (const T *)a.x, a.ax, (const T *)a.r, a.ar, a.mask, (T *)a.y, a.bits, t,      \
           st->act)

/* After a sum; END: END_RELU or END_BITS. */
template <class T, int N, int END>
static void launch_sum(struct device *dev, const apply_state *st, const apply_args &a,
                       unsigned grid)
{
    const tile &t = st->t;

    if (st->nnorm > 1)
        APPLY(RESIDUAL_NORM, END);
    else if (st->drop)
        APPLY(RESIDUAL_DROPPED, END);
    else
        APPLY(RESIDUAL_TENSOR, END);
}

template <class T, int N>
static void apply_launch(struct device *dev, const apply_state *st, const apply_args &a,
                         unsigned grid)
{
    const tile &t = st->t;

    if (st->act.kind == FUSED_OTHER) {
        if (a.r)
            APPLY(RESIDUAL_TENSOR, END_OTHER);
        else
            APPLY(RESIDUAL_NONE, END_OTHER);
    } else if (a.r) {
        launch_sum<T, N, END_RELU>(dev, st, a, grid);
    } else {
        APPLY(RESIDUAL_NONE, END_RELU);
    }
}

#undef APPLY

static void apply_run(struct step *s, struct device *dev)
{
    const apply_state *st = (const apply_state *)s->state;
    const tile &t = st->t;
    int64_t rows = (int64_t)t.high * APPLY_EACH;
    unsigned grid = (unsigned)((t.rows + rows - 1) / rows * t.tiles);
    apply_args a = args_of(s, st);
    enum dtype type = s->out_tensor[0]->dtype;

    if (st->bits >= 0)
        WITH_DTYPE(type, T, (launch_sum<T, 8, END_BITS>(dev, st, a, grid)));
    else
        WITH_DTYPE(type, T,
                   WITH_PACK(T, t.channels, N, apply_launch<T, N>(dev, st, a, grid)));
}

extern const struct kernel cuda_batchnorm_apply = {
    .name = "cuda batchnorm apply",
    .claim = apply_claim,
    .run = apply_run,
    .state_size = sizeof(apply_state),
};

/* ---- fold, if its tables are read elsewhere ---- */

__global__ void __launch_bounds__(TILE_THREADS)
    batchnorm_fold(affine a, float *scale, float *shift, int channels)
{
    int c = (int)(blockIdx.x * TILE_THREADS + threadIdx.x);
    float v, w;

    if (c >= channels)
        return;
    affine_load<1>(a, c, &v, &w);
    if (scale)
        scale[c] = v;
    if (shift)
        shift[c] = w;
}

static const char *fold_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    if (n->op != &op_batchnorm_fold)
        return "not the fold of a batch norm";

    region_claim_node(r, n);
    return nullptr;
}

static void fold_run(struct step *s, struct device *dev)
{
    const struct batchnorm_part_attrs *attrs =
        (const struct batchnorm_part_attrs *)s->node->attrs;
    affine a = {.weight = (const float *)s->in[BATCHNORM_FOLD_WEIGHT],
                .bias = (const float *)s->in[BATCHNORM_FOLD_BIAS],
                .mean = (const float *)s->in[BATCHNORM_FOLD_MEAN],
                .var = (const float *)s->in[BATCHNORM_FOLD_VAR],
                .eps = attrs->eps};
    int c = (int)tensor_len(s->in_tensor[0]);

    LAUNCH(dev, batchnorm_fold, cuda_blocks(c, TILE_THREADS, 1), TILE_THREADS, 0, a,
           (float *)s->out[BATCHNORM_FOLD_SCALE], (float *)s->out[BATCHNORM_FOLD_SHIFT],
           c);
}

extern const struct kernel cuda_batchnorm_fold = {
    .name = "cuda batchnorm fold",
    .claim = fold_claim,
    .run = fold_run,
};
