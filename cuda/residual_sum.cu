/*
 * A residual sum with what its branch ends with, in one pass:
 *
 *   y = other + branch [* gamma of layer_scale] [* factors of drop_path]
 *
 * reads two tensors and writes one. Each step rounds to the data's type, as its own kernel
 * would, so the bits are the same. Sums that a layer norm follows are fused with that
 * (cuda/residual.h). With CUDNN.FUSE False nothing is fused.
 */
#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/path_mask.h"
#include "cuda/residual.h"
#include "graph/kernel.h"
#include "ops/add.h"
#include "ops/image.h"
#include "ops/layer_scale.h"

enum { ROUNDS = 8 };

struct sum_nodes {
    struct node *drop, *scale; /* either may be NULL */
    struct tensor *branch, *other;
    int64_t rows; /* per sample */
};

/* Returns the producer of t with this op, directly or through a view, if nothing else reads
 * either; or NULL. */
static struct node *ends_with(const struct graph *g, struct tensor *t,
                              const struct op *op)
{
    struct tensor *base = tensor_base(t);

    if (base != t && (t->producer->in[0] != base || !tensor_only_reader(g, t)))
        return nullptr;
    return sole_producer(g, base, op);
}

static bool takes_part(const struct node *n, const struct node *add)
{
    return n && n->phase == add->phase && n->in[0]->dtype == add->out[0]->dtype &&
           n->out[0]->dtype == add->out[0]->dtype;
}

static bool find_branch(struct sum_nodes *f, const struct graph *g,
                        const struct node *add, int side)
{
    *f = {};
    f->branch = add->in[side];
    f->other = add->in[1 - side];
    f->drop = ends_with(g, f->branch, &op_drop_path);
    if (takes_part(f->drop, add))
        f->rows = residual_rows(f->drop, tensor_channels(add->out[0]));
    if (f->rows)
        f->branch = f->drop->in[DROPOUT_X];
    else
        f->drop = nullptr;
    f->scale = ends_with(g, f->branch, &op_layer_scale);
    if (!takes_part(f->scale, add))
        f->scale = nullptr;
    else
        f->branch = f->scale->in[LAYER_SCALE_X];
    return (f->drop || f->scale) && tensor_base(f->branch) != tensor_base(f->other) &&
           tensor_channels(f->branch) == tensor_channels(add->out[0]);
}

struct sum_state {
    int gamma, control; /* indices of reads, or -1 */
    const struct node *drop;
    int64_t rows;
};

static const char *sum_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    sum_state *st = (sum_state *)region_state(r);
    struct sum_nodes f;

    if (dev->options.apart || n->op != &op_add || n->nin != 2)
        return "not a sum of two";
    if (n->in[0]->dtype != n->out[0]->dtype || n->in[1]->dtype != n->out[0]->dtype)
        return "one type for all";
    if (!find_branch(&f, g, n, 0) && !find_branch(&f, g, n, 1))
        return "neither input ends with a layer scale or a drop path";

    region_claim(r, n);
    (void)region_read(r, f.branch);
    (void)region_read(r, f.other);
    st->gamma = st->control = -1;
    if (f.drop) {
        region_claim(r, f.drop);
        st->control = region_read(r, f.drop->in[DROPOUT_CONTROL]);
    }
    if (f.scale) {
        region_claim(r, f.scale);
        st->gamma = region_read(r, f.scale->in[LAYER_SCALE_GAMMA]);
    }
    st->drop = f.drop;
    st->rows = f.rows;
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, 0);
    return nullptr;
}

template <class T, int N>
__global__ void __launch_bounds__(TILE_THREADS)
    sum_tiles(const T *branch, const T *other, const float *gamma, T *y, tile t,
              path_mask m)
{
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    int64_t row = (int64_t)(blockIdx.x / (unsigned)t.tiles) * t.high * ROUNDS + p.row;
    float scale[N];

    if (!p.on)
        return;
    if (gamma)
        table_load<N>(gamma + p.channel, scale);
    for (int i = 0; i < ROUNDS && row < t.rows; i++, row += t.high) {
        int64_t pos = row * t.channels + p.channel;
        pack<T, N> a = pack_load<N>(branch + pos), b = pack_load<N>(other + pos);
        float factor = path_factor(m, row);

        for (int k = 0; k < N; k++) {
            if (gamma)
                a.set(k, a.get(k) * scale[k]);
            if (m.control)
                a.set(k, a.get(k) * factor);
            b.set(k, a.get(k) + b.get(k));
        }
        pack_store(y + pos, b);
    }
}

static void sum_run(struct step *s, struct device *dev)
{
    const sum_state *st = (const sum_state *)s->state;
    const struct tensor *y = s->out_tensor[0];
    int64_t channels = tensor_channels(y), rows = tensor_len(y) / channels;
    const float *gamma = st->gamma < 0 ? nullptr : (const float *)s->in[st->gamma];
    path_mask m =
        path_mask_of(st->drop, st->rows, st->control < 0 ? nullptr : s->in[st->control]);

    WITH_DTYPE(y->dtype, T, {
        WITH_PACK(T, channels, N, {
            tile t = tile_of(rows, channels, N);
            int64_t groups = (rows + t.high * ROUNDS - 1) / (t.high * ROUNDS);

            LAUNCH(dev, (sum_tiles<T, N>), (unsigned)(groups * t.tiles), TILE_THREADS, 0,
                   (const T *)s->in[0], (const T *)s->in[1], gamma, (T *)s->out[0], t, m);
        });
    });
}

extern const struct kernel cuda_residual_sum = {
    .name = "cuda residual sum",
    .claim = sum_claim,
    .run = sum_run,
    .state_size = sizeof(sum_state),
};
