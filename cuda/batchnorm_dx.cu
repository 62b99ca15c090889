/*
 * dx of batch norm: dz dy_scale + x x_scale + offset. dz is the incoming gradient or,
 * directly after an activation or a dropout2d without other readers, that gradient times
 * the slope or the mask again.
 *
 * Bytes: x and dz (or g) once, dx once; from the end of the tensor to its start.
 *
 * By the choice of those factors, dx sums to zero over a channel. So the gradient of a
 * bias in front of the batch norm is zero: this kernel writes it without reading dx. It
 * is NaN where the factors are.
 */
#include "cuda/activation.h"
#include "cuda/batchnorm_grad.h"
#include "cuda/kernels.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"
#include "ops/bias_grad.h"
#include "ops/dropout.h"

enum { GRAD_APPLY_EACH = 8 }; /* rows per thread */

struct dx_tables {
    const float *dy_scale, *x_scale, *offset;
    const float *scale, *shift; /* of the forward pass, for the mask; may be NULL */
};

enum { MASKED_NOT, MASKED_RELU, MASKED_OTHER, MASKED_DROP };

template <class T, int N, int MASKED>
__global__ void __launch_bounds__(TILE_THREADS, MASKED == MASKED_DROP ? 2 : 3)
    batchnorm_grad_apply(const T *x, const T *g, T *dx, dx_tables d, channel_mask m,
                         tile t, fused_act act, float *zero)
{
    enum { UNROLL = 2 };
    constexpr bool SLOPE = MASKED == MASKED_RELU || MASKED == MASKED_OTHER;
    int block = (int)(gridDim.x - 1 - blockIdx.x);
    place p = place_of<N>(t, block % t.tiles);
    int64_t row = (int64_t)(block / t.tiles) * t.high * GRAD_APPLY_EACH + p.row;
    int64_t pos = row * t.channels + p.channel, jump = (int64_t)t.high * t.channels;
    float a[N], b[N], c[N], scale[N], shift[N];
    masked<N> drop;

    if (zero && blockIdx.x == 0)
        for (int c = (int)threadIdx.x; c < t.channels; c += TILE_THREADS)
            zero[c] = 0 * d.offset[c];
    if (!p.valid)
        return;
    table_load<N>(d.dy_scale + p.channel, a);
    table_load<N>(d.x_scale + p.channel, b);
    table_load<N>(d.offset + p.channel, c);
    if (SLOPE) {
        table_load<N>(d.scale + p.channel, scale);
        table_load<N>(d.shift + p.channel, shift);
    }
    for (int e = 0; e < GRAD_APPLY_EACH; e += UNROLL) {
        pack<T, N> v[UNROLL], dz[UNROLL];

        for (int u = 0; u < UNROLL; u++)
            if (row + (int64_t)(e + u) * t.high < t.rows) {
                v[u] = pack_load<N>(x + pos + (e + u) * jump);
                dz[u] = pack_load<N>(g + pos + (e + u) * jump);
            }
        for (int u = 0; u < UNROLL; u++)
            if (row + (int64_t)(e + u) * t.high < t.rows) {
                if (MASKED == MASKED_DROP)
                    drop.advance(m, row + (int64_t)(e + u) * t.high, t.channels,
                                 p.channel);
                for (int i = 0; i < N; i++) {
                    float w = v[u].get(i), z = dz[u].get(i);

                    if (MASKED == MASKED_DROP)
                        z *= drop.factor[i];
                    if (SLOPE)
                        z = act_slope_at<MASKED == MASKED_OTHER>(
                            act, batchnorm_value(w, scale[i], shift[i]), z);
                    v[u].set(i, z * a[i] + (w * b[i] + c[i]));
                }
                pack_store<T, N>(dx + pos + (e + u) * jump, v[u]);
            }
    }
}

enum { READ_X, READ_G, READ_DY_SCALE, READ_X_SCALE, READ_OFFSET, READ_SCALE, READ_SHIFT };

struct dx_state {
    tile t;
    bool masked; /* by the activation's slope */
    fused_act act;
    const struct node *drop; /* may be NULL */
    int control;             /* index of a read, with drop */
    bool bias;               /* write 1: the gradient of the bias in front */
};

/* Returns the node of the dx that bias gradient n sums if the claim can include it, or NULL. */
static struct node *dx_summed(const struct node *n)
{
    struct node *p = n->op == &op_bias_grad ? n->in[BIAS_GRAD_DY]->producer : nullptr;

    return p && p->op == &op_batchnorm_grad_apply && node_free(p) ? p : nullptr;
}

static const char *grad_apply_claim(struct region *r, struct graph *g, struct node *n,
                                    struct device *)
{
    dx_state *st = (dx_state *)region_state(r);
    struct node *bias = dx_summed(n) ? n : nullptr;
    grad_front f;

    if (bias)
        n = dx_summed(bias);
    if (n->op != &op_batchnorm_grad_apply)
        return "not the gradient of a batch norm's input";

    struct tensor *x = n->in[BATCHNORM_GRAD_APPLY_X],
                  *dz = n->in[BATCHNORM_GRAD_APPLY_DY];

    st->drop = grad_drop_find(g, dz, x);
    grad_front_find(&f, g, dz, x);
    if (dz->dtype != x->dtype || n->out[0]->dtype != x->dtype ||
        !grad_front_one_type(&f, x))
        return "one type for all";

    st->t = tile_of_image(x);
    st->masked = grad_front_again(g, &f, dz, x);
    st->act = fused_act_of(f.act);
    st->bias = bias != nullptr;
    if (bias)
        region_claim(r, bias);
    region_claim(r, n);
    if (st->masked)
        region_duplicate(r, f.act);
    (void)region_read(r, x);
    (void)region_read(r, st->drop ? st->drop->in[DROPOUT_X] : st->masked ? f.g : dz);
    for (int i = BATCHNORM_GRAD_APPLY_DY_SCALE; i <= BATCHNORM_GRAD_APPLY_OFFSET; i++)
        (void)region_read(r, n->in[i]);
    if (st->masked) {
        (void)region_read(r, f.scale);
        (void)region_read(r, f.shift);
    }
    if (st->drop) {
        region_duplicate(r, dz->producer);
        st->control = region_read(r, st->drop->in[DROPOUT_CONTROL]);
    }
    region_inplace(r, region_write(r, n->out[0]), READ_X);
    if (bias)
        (void)region_write(r, bias->out[0]);
    return nullptr;
}

static void grad_apply_run(struct step *s, struct device *dev)
{
    const dx_state *st = (const dx_state *)s->state;
    const tile &t = st->t;
    int64_t rows = (int64_t)t.high * GRAD_APPLY_EACH;
    unsigned grid = (unsigned)((t.rows + rows - 1) / rows * t.tiles);
    const float *const *in = (const float *const *)s->in;
    dx_tables d = {in[READ_DY_SCALE], in[READ_X_SCALE], in[READ_OFFSET],
                   st->masked ? in[READ_SCALE] : nullptr,
                   st->masked ? in[READ_SHIFT] : nullptr};
    channel_mask m = {};
    float *zero = st->bias ? (float *)s->out[1] : nullptr;

    if (st->drop)
        m = channel_mask_of(st->drop, s->out_tensor[0], s->in[st->control]);

#define APPLY(masked)                                                                    \
    LAUNCH(dev, (batchnorm_grad_apply<T, N, masked>), grid, TILE_THREADS, 0, x, g, dx,   \
           d, m, t, st->act, zero)

    WITH_DTYPE(s->out_tensor[0]->dtype, T, WITH_PACK(T, t.channels, N, {
                   const T *x = (const T *)s->in[READ_X], *g = (const T *)s->in[READ_G];
                   T *dx = (T *)s->out[0];

                   if (st->masked && st->act.kind == FUSED_OTHER)
                       APPLY(MASKED_OTHER);
                   else if (st->masked)
                       APPLY(MASKED_RELU);
                   else if (st->drop)
                       APPLY(MASKED_DROP);
                   else
                       APPLY(MASKED_NOT);
               }));
#undef APPLY
}

extern const struct kernel cuda_batchnorm_grad_apply = {
    .name = "cuda batchnorm gradient apply",
    .claim = grad_apply_claim,
    .run = grad_apply_run,
    .state_size = sizeof(dx_state),
};
