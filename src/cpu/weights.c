#include "cpu/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cpu/pack.h"
#include "ops/batchnorm_formula.h"
#include "ops/cast.h"

struct tensor *weights_master(struct tensor *w)
{
    const struct node *cast = w->producer;

    if (!cast)
        return w->memory == MEMORY_WEIGHTS ? w : NULL;
    if (cast->op != &op_cast || cast->in[CAST_X]->memory != MEMORY_WEIGHTS)
        return NULL;
    return cast->in[CAST_X];
}

void weights_read(struct region *r, const struct tensor *w)
{
    if (w->producer)
        region_duplicate(r, w->producer);
}

int weights_pack(struct region *r, struct tensor *w, size_t size,
                 void (*pack)(void *dst, void *const *from, void *state),
                 const void *state, size_t state_size, const void *key, size_t key_len)
{
    weights_read(r, w);
    return region_derive(r, &(const struct derive){
                                .size = size,
                                .from = {weights_master(w)},
                                .nfrom = 1,
                                .key = key,
                                .key_len = key_len,
                                .pack = pack,
                                .state = xmemdup(state, state_size),
                                .release = free,
                            });
}

struct pack_state {
    const struct device *dev;
    struct onednn_pack *library; /* NULL: our own loop does it */
    struct pack own;
    float *plain; /* scaled by a batch norm, with zeros behind them; NULL: as they are */
    bool fold;
    int64_t out, row;
    float eps;
};

static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_state *st = arg;

    st->dev->loops->pack(&st->own, lo, hi);
}

static void pack(void *dst, void *const *from, void *state)
{
    struct pack_state *st = state;
    const float *w = from[0];

    if (!st->library) {
        st->own.from = from[0];
        st->own.to = dst;
        cpu_for(st->dev, st->own.out_padded, 16, pack_part, st);
        return;
    }
    if (!st->plain) {
        onednn_pack_run(st->library, dst, from[0]);
        return;
    }
    for (int64_t o = 0; o < st->out; o++) {
        const float *weight = st->fold ? from[1] : NULL, *var = st->fold ? from[2] : NULL;
        float scale =
            weight ? batchnorm_scale(weight[o], batchnorm_rstd(var[o], st->eps)) : 1;

        for (int64_t i = o * st->row; i < (o + 1) * st->row; i++)
            st->plain[i] = w[i] * scale;
    }
    onednn_pack_run(st->library, dst, st->plain);
}

static void pack_release(void *state)
{
    struct pack_state *st = state;

    onednn_pack_free(st->library);
    free(st->plain);
    free(st);
}

enum { KEY_SIZE = 2048 };

int weights_derive(struct region *r, struct device *dev, const struct onednn_prim *p,
                   enum dtype type, struct tensor *master,
                   const struct weights_fold *fold)
{
    struct pack_state *st = xcalloc(1, sizeof(*st));
    char key[KEY_SIZE];
    struct derive d = {
        .size = onednn_prim_weights_size(p),
        .from = {master},
        .nfrom = 1,
        .key = key,
        .key_len = onednn_prim_key(p, key, sizeof(key)),
        .pack = pack,
        .state = st,
        .release = pack_release,
    };

    st->dev = dev;
    if (fold || !pack_plan(&st->own, dev->loops, p, type, master->ndim, master->dim))
        st->library = onednn_pack_new(dev->onednn, p, ONEDNN_PACK);
    st->out = master->dim[0];
    st->row = tensor_len(master) / st->out;
    if (st->library && (fold || onednn_prim_plain_size(p) > tensor_size(master)))
        st->plain = xalloc_aligned(onednn_prim_plain_size(p));
    if (fold) {
        st->fold = true;
        st->eps = fold->eps;
        d.from[d.nfrom++] = fold->weight;
        d.from[d.nfrom++] = fold->var;
    }
    return region_derive(r, &d);
}

struct bias_state {
    int64_t out;
    float eps;
    bool layer_bias;
};

enum { FROM_WEIGHT, FROM_BIAS, FROM_MEAN, FROM_VAR, FROM_LAYER_BIAS };

static void fold_bias(void *dst, void *const *from, void *state)
{
    const struct bias_state *st = state;
    const float *weight = from[FROM_WEIGHT], *bias = from[FROM_BIAS],
                *mean = from[FROM_MEAN], *var = from[FROM_VAR];
    const float *layer = st->layer_bias ? from[FROM_LAYER_BIAS] : NULL;
    float *out = dst;

    for (int64_t o = 0; o < st->out; o++) {
        float scale = batchnorm_scale(weight[o], batchnorm_rstd(var[o], st->eps));

        out[o] = ((layer ? layer[o] : 0) - mean[o]) * scale + bias[o];
    }
}

int weights_bias(struct region *r, const struct weights_fold *fold,
                 struct tensor *layer_bias)
{
    struct bias_state *st = xcalloc(1, sizeof(*st));
    struct derive d = {
        .size = tensor_size(fold->bias),
        .from = {fold->weight, fold->bias, fold->mean, fold->var, layer_bias},
        .nfrom = layer_bias ? 5 : 4,
        .key = "bias",
        .key_len = 4,
        .pack = fold_bias,
        .state = st,
        .release = free,
    };

    st->out = tensor_len(fold->bias);
    st->eps = fold->eps;
    st->layer_bias = layer_bias != NULL;
    return region_derive(r, &d);
}
