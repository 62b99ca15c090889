/*
 * Both gradients of layer_scale, and the drop_path before them, in one pass:
 *
 *   g = dy [* factors of drop_path]      dx = g gamma      dgamma = sum of g x
 *
 * reads dy and x and writes dx. All have one type, or dy is fp32 and x and dx have 16 bits:
 * then the casts between them are fused, too. g and dx are rounded, and the sums are added
 * in the order of separate kernels, so the bits are the same. With CUDNN.FUSE False nothing
 * is fused.
 */
#include "cuda/bias_grad.h"
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/path_mask.h"
#include "cuda/residual.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/image.h"
#include "ops/layer_scale.h"

enum { UNROLL = 4 };

struct scale_grad_state {
    tile t;
    int chunks, control; /* control: index of a read, or -1 */
    const struct node *drop;
    int64_t rows; /* per sample */
};

/* Returns the free node that sums the products of g, which `scale` multiplies by gamma. */
static struct node *gamma_grad_of(const struct graph *g, const struct node *scale)
{
    const struct tensor *t = scale->in[LAYER_SCALE_X];
    struct node *n;

    for (int i = 0; (n = tensor_reader(g, t, i)) != nullptr; i++)
        if (n->op == &op_layer_scale_gamma_grad && node_free(n) &&
            n->in[LAYER_SCALE_GAMMA_GRAD_DY] == t)
            return n;
    return nullptr;
}

/* True if only a and b read t, which is no root. */
static bool only_read_by(const struct graph *g, const struct tensor *t,
                         const struct node *a, const struct node *b)
{
    const struct node *n;

    for (int i = 0; (n = tensor_reader(g, t, i)) != nullptr; i++)
        if (n != a && n != b)
            return false;
    return !t->root;
}

/* Returns the drop_path that only these two read, directly or through one view; or NULL. */
static struct node *drop_before(const struct graph *g, const struct node *scale,
                                const struct node *sums)
{
    struct tensor *t = scale->in[LAYER_SCALE_X], *base = tensor_base(t);
    struct node *p = base->producer;

    if (!p || p->op != &op_drop_path || !node_free(p) || p->phase != scale->phase ||
        p->in[DROPOUT_X]->dtype != t->dtype || !only_read_by(g, t, scale, sums))
        return nullptr;
    if (base != t &&
        (t->producer->in[0] != base || tensor_only_reader(g, base) != t->producer))
        return nullptr;
    return residual_rows(p, tensor_channels(t)) ? p : nullptr;
}

/* What the kernel includes. */
struct scale_grad_nodes {
    struct node *scale, *sums;
    struct node *drop;          /* may be NULL */
    struct node *round, *widen; /* of dx, and of x: both or neither */
};

/* Finds the nodes of a gradient that ends with n. */
static bool find_nodes(scale_grad_nodes *f, const struct graph *g, struct node *n,
                       const struct device *dev)
{
    *f = {};
    f->scale = n;
    if (residual_is_round(g, n, dev)) {
        f->round = n;
        f->scale = sole_producer(g, n->in[CAST_X], &op_layer_scale);
    }
    if (dev->options.apart || !f->scale || f->scale->op != &op_layer_scale ||
        f->scale->phase != n->phase)
        return false;
    f->sums = gamma_grad_of(g, f->scale);
    if (!f->sums)
        return false;
    if (f->round)
        f->widen = residual_widen(g, f->sums->in[LAYER_SCALE_GAMMA_GRAD_X], n->phase);
    f->drop = drop_before(g, f->scale, f->sums);
    return !f->round ||
           (f->widen && f->widen->in[CAST_X]->dtype == f->round->out[0]->dtype);
}

static const char *grad_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *dev)
{
    scale_grad_state *st = (scale_grad_state *)region_state(r);
    scale_grad_nodes f;

    if (!find_nodes(&f, g, n, dev))
        return "not both gradients of a layer scale";

    struct tensor *dy = f.scale->in[LAYER_SCALE_X];
    struct tensor *x = f.sums->in[LAYER_SCALE_GAMMA_GRAD_X];
    int64_t channels = tensor_channels(dy);

    if (f.scale->out[0]->dtype != dy->dtype || x->dtype != dy->dtype)
        return "one type for all";

    st->drop = f.drop;
    st->rows = f.drop ? residual_rows(f.drop, channels) : 0;
    WITH_DTYPE(dy->dtype, T, {
        st->t = tile_of(tensor_len(dy) / channels, channels,
                        channels % vec<T>::N ? 1 : vec<T>::N);
    });
    st->chunks = bias_grad_chunks(dev, &st->t);
    region_claim(r, f.scale);
    region_claim(r, f.sums);
    if (f.drop)
        region_claim(r, f.drop);
    if (f.round) {
        region_claim(r, f.round);
        region_claim(r, f.widen);
    }
    (void)region_read(r, f.drop ? f.drop->in[DROPOUT_X] : dy);
    (void)region_read(r, f.widen ? f.widen->in[CAST_X] : x);
    (void)region_read(r, f.scale->in[LAYER_SCALE_GAMMA]);
    st->control = f.drop ? region_read(r, f.drop->in[DROPOUT_CONTROL]) : -1;
    (void)region_write(r, n->out[0]);
    (void)region_write(r, f.sums->out[0]);
    region_inplace(r, 0, f.round ? 1 : 0);
    region_workspace(r, (size_t)st->chunks * (size_t)channels * sizeof(float));
    return nullptr;
}

/* sums [chunks][channels] */
template <class T, class H, int N>
__global__ void __launch_bounds__(TILE_THREADS)
    grad_rows(const T *dy, const H *x, const float *gamma, H *dx, float *sums, tile t,
              int chunks, path_mask m)
{
    __shared__ __align__(16) float shared[TILE_THREADS * N];
    int chunk = (int)blockIdx.x / t.tiles;
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    int64_t row = (int64_t)chunk * t.high + p.row, step = (int64_t)chunks * t.high;
    int64_t left = p.valid && row < t.rows ? (t.rows - row + step - 1) / step : 0;
    int64_t i = row * t.channels + p.channel, jump = step * t.channels;
    float sum[N] = {}, scale[N] = {};

    if (left > 0)
        table_load<N>(gamma + p.channel, scale);
    for (; left > 0; left -= UNROLL, i += UNROLL * jump, row += UNROLL * step) {
        pack<T, N> a[UNROLL];
        pack<H, N> b[UNROLL];

        for (int u = 0; u < UNROLL; u++)
            if (u < left) {
                a[u] = pack_load<N>(dy + i + u * jump);
                b[u] = pack_load<N>(x + i + u * jump);
            }
        for (int u = 0; u < UNROLL && u < left; u++) {
            float factor = path_factor(m, row + u * step);

            for (int k = 0; k < N; k++) {
                if (m.control)
                    a[u].set(k, a[u].get(k) * factor);
                sum[k] = fmaf(a[u].get(k), b[u].get(k), sum[k]);
                b[u].set(k, a[u].get(k) * scale[k]);
            }
            pack_store(dx + i + u * jump, b[u]);
        }
    }

    float all = tile_sum<N>(t, p, sum, shared);
    int c = p.tile * t.wide * N + (int)threadIdx.x;

    if ((int)threadIdx.x < t.wide * N && c < t.channels)
        sums[(int64_t)chunk * t.channels + c] = all;
}

template <class T, class H> static void run_rows(struct step *s, struct device *dev)
{
    const scale_grad_state *st = (const scale_grad_state *)s->state;
    unsigned grid = (unsigned)(st->t.tiles * st->chunks);
    path_mask m =
        path_mask_of(st->drop, st->rows, st->control < 0 ? nullptr : s->in[st->control]);

    WITH_PACK(T, st->t.channels, N,
              LAUNCH(dev, (grad_rows<T, H, N>), grid, TILE_THREADS, 0,
                     (const T *)s->in[0], (const H *)s->in[1], (const float *)s->in[2],
                     (H *)s->out[0], (float *)s->workspace, st->t, st->chunks, m));
}

static void grad_run(struct step *s, struct device *dev)
{
    const scale_grad_state *st = (const scale_grad_state *)s->state;
    enum dtype dy = s->in_tensor[0]->dtype, x = s->in_tensor[1]->dtype;

    if (dy != x)
        WITH_HALF(x, H, (run_rows<float, H>(s, dev)));
    else
        WITH_DTYPE(x, T, (run_rows<T, T>(s, dev)));
    bias_grad_combine(dev, (const float *)s->workspace, s->out[1], DTYPE_F32,
                      st->t.channels, st->t.channels, st->chunks);
}

extern const struct kernel cuda_layer_scale_grad = {
    .name = "cuda layer_scale gradients",
    .claim = grad_claim,
    .run = grad_run,
    .state_size = sizeof(scale_grad_state),
};
