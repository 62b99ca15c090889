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

struct sum_state {
    residual_reads read;
    const struct node *drop;
    int64_t rows;
};

static const char *sum_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *dev)
{
    sum_state *st = (sum_state *)region_state(r);
    residual f = {};

    if (dev->options.apart || n->op != &op_add || n->nin != 2)
        return "not a sum of two";
    if (n->in[0]->dtype != n->out[0]->dtype || n->in[1]->dtype != n->out[0]->dtype)
        return "one type for all";
    for (int i = 0; i < 2 && !f.drop && !f.scale; i++)
        if (!residual_branch(&f, g, n, i, tensor_channels(n->out[0]), n->out[0]->dtype))
            f = {};
    if (!f.drop && !f.scale)
        return "neither input ends with a layer scale or a drop path";

    (void)region_read(r, f.branch);
    st->read = residual_claim(r, &f);
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

    if (!p.valid)
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
    int gamma = st->read.gamma, control = st->read.control;
    path_mask m =
        path_mask_of(st->drop, st->rows, control < 0 ? nullptr : s->in[control]);

    WITH_DTYPE(y->dtype, T, {
        WITH_PACK(T, channels, N, {
            tile t = tile_of(rows, channels, N);
            int64_t groups = (rows + t.high * ROUNDS - 1) / (t.high * ROUNDS);

            LAUNCH(dev, (sum_tiles<T, N>), (unsigned)(groups * t.tiles), TILE_THREADS, 0,
                   (const T *)s->in[0], (const T *)s->in[st->read.other],
                   gamma < 0 ? nullptr : (const float *)s->in[gamma], (T *)s->out[0], t,
                   m);
        });
    });
}

extern const struct kernel cuda_residual_sum = {
    .name = "cuda residual sum",
    .claim = sum_claim,
    .run = sum_run,
    .state_size = sizeof(sum_state),
};
