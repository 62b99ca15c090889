/*
 * layer_scale: reads x and writes y once; a thread keeps its channels' factors for ROUNDS
 * rows. The gradient of gamma is in bias_grad.cu.
 */
#include "ops/layer_scale.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"
#include "ops/image.h"

enum { ROUNDS = 8 };

static const char *layer_scale_claim(struct region *r, struct graph *, struct node *n,
                                     struct device *)
{
    if (n->op != &op_layer_scale)
        return "not a layer_scale";
    if (n->in[LAYER_SCALE_X]->dtype != n->out[0]->dtype)
        return "one type for x and y";

    region_claim_node(r, n);
    region_inplace(r, 0, LAYER_SCALE_X);
    return nullptr;
}

template <class T, int N>
__global__ void __launch_bounds__(TILE_THREADS)
    scale_tiles(const T *x, const float *gamma, T *y, tile t)
{
    place p = place_of<N>(t, (int)blockIdx.x % t.tiles);
    int64_t row = (int64_t)(blockIdx.x / (unsigned)t.tiles) * t.high * ROUNDS + p.row;
    float g[N];

    if (!p.valid)
        return;
    table_load<N>(gamma + p.channel, g);
    for (int i = 0; i < ROUNDS && row < t.rows; i++, row += t.high) {
        int64_t pos = row * t.channels + p.channel;
        pack<T, N> a = pack_load<N>(x + pos);

        for (int k = 0; k < N; k++)
            a.set(k, a.get(k) * g[k]);
        pack_store(y + pos, a);
    }
}

static void layer_scale_run(struct step *s, struct device *dev)
{
    const struct tensor *y = s->out_tensor[0];
    int64_t channels = tensor_channels(y), rows = tensor_len(y) / channels;

    WITH_DTYPE(y->dtype, T, {
        WITH_PACK(T, channels, N, {
            tile t = tile_of(rows, channels, N);
            int64_t groups = (rows + t.high * ROUNDS - 1) / (t.high * ROUNDS);

            LAUNCH(dev, (scale_tiles<T, N>), (unsigned)(groups * t.tiles), TILE_THREADS,
                   0, (const T *)s->in[LAYER_SCALE_X],
                   (const float *)s->in[LAYER_SCALE_GAMMA], (T *)s->out[0], t);
        });
    });
}

extern const struct kernel cuda_layer_scale = {
    .name = "cuda layer_scale",
    .claim = layer_scale_claim,
    .run = layer_scale_run,
};
