#include "cpu/weights.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cpu/pack.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_formula.h"
#include "ops/cast.h"
#include "ops/layer_scale.h"

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

struct weights_fold weights_fold(const struct node *n)
{
    if (n->op == &op_layer_scale)
        return (struct weights_fold){.weight = n->in[LAYER_SCALE_GAMMA]};
    return (struct weights_fold){
        .weight = n->in[BATCHNORM_WEIGHT],
        .bias = n->in[BATCHNORM_BIAS],
        .mean = n->in[BATCHNORM_INFERENCE_MEAN],
        .var = n->in[BATCHNORM_INFERENCE_VAR],
        .eps = ((const struct batchnorm_attrs *)n->attrs)->eps,
    };
}

/* ---- input of the packing: the parameter, or a copy with a scale ---- */

struct source {
    float *copy;     /* NULL: the unchanged parameter */
    bool fold, norm; /* norm: of a batch norm */
    int64_t out, row;
    float eps;
};

enum { FROM_W, FROM_SCALE, FROM_SCALE_VAR };

/* bytes: size of the copy, which may exceed the parameter's; the rest is zeros. */
static struct source source_new(struct derive *d, struct tensor *master,
                                const struct weights_fold *fold, size_t bytes)
{
    struct source s = {.fold = fold != NULL, .out = master->dim[0]};

    s.row = tensor_len(master) / s.out;
    if (fold || bytes > tensor_size(master))
        s.copy = xalloc_aligned(bytes);
    d->source[d->nsource++] = master;
    if (fold) {
        s.eps = fold->eps;
        s.norm = fold->var != NULL;
        d->source[d->nsource++] = fold->weight;
        if (s.norm)
            d->source[d->nsource++] = fold->var;
    }
    return s;
}

static float *source_get(const struct source *s, void *const *src)
{
    float *w = src[FROM_W];

    if (!s->copy)
        return w;
    for (int64_t o = 0; o < s->out; o++) {
        const float *weight = s->fold ? src[FROM_SCALE] : NULL,
                    *var = s->norm ? src[FROM_SCALE_VAR] : NULL;
        float scale = weight ? weight[o] : 1;

        if (var)
            scale = batchnorm_scale(scale, batchnorm_rstd(var[o], s->eps));

        for (int64_t i = o * s->row; i < (o + 1) * s->row; i++)
            s->copy[i] = w[i] * scale;
    }
    return s->copy;
}

/* ---- our own packings ---- */

struct own_state {
    struct source source;
    void (*pack)(void *dst, const float *w, const void *state);
    void *state;
};

static void own_pack(void *dst, void *const *src, void *state)
{
    const struct own_state *st = state;

    st->pack(dst, source_get(&st->source, src), st->state);
}

static void own_release(void *state)
{
    struct own_state *st = state;

    free(st->source.copy);
    free(st->state);
    free(st);
}

int weights_pack(struct region *r, struct tensor *w, const struct weights_fold *fold,
                 const struct weights_packing *how)
{
    struct tensor *master = weights_master(w);
    struct own_state *st;
    struct derive d = {
        .size = how->size,
        .key = how->key,
        .key_len = how->key_len,
        .pack = own_pack,
        .release = own_release,
    };

    if (!master)
        BUG("%s is computed: it cannot be packed ahead of time", w->name);
    d.state = st = xcalloc(1, sizeof(*st));
    st->source = source_new(&d, master, fold, tensor_size(master));
    st->pack = how->pack;
    st->state = xmemdup(how->state, how->state_size);
    weights_read(r, w);
    return region_derive(r, &d);
}

/* ---- oneDNN's packings ---- */

struct pack_state {
    const struct device *dev;
    struct onednn_pack *library; /* NULL: our own loop packs */
    struct pack loop;
    struct source source;
};

static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_state *st = arg;

    st->dev->loops->pack(&st->loop, lo, hi);
}

static void pack(void *dst, void *const *src, void *state)
{
    struct pack_state *st = state;

    if (st->library) {
        onednn_pack_run(st->library, dst, source_get(&st->source, src));
        return;
    }
    st->loop.src = src[FROM_W];
    st->loop.dst = dst;
    cpu_for(st->dev, st->loop.out_padded, 16, pack_part, st);
}

static void pack_release(void *state)
{
    struct pack_state *st = state;

    onednn_pack_free(st->library);
    free(st->source.copy);
    free(st);
}

int weights_derive(struct region *r, struct device *dev, const struct onednn_prim *p,
                   enum dtype type, struct tensor *master,
                   const struct weights_fold *fold)
{
    struct pack_state *st = xcalloc(1, sizeof(*st));
    int key[] = {'w', onednn_prim_packing(p)};
    struct derive d = {
        .size = onednn_prim_weights_size(p),
        .key = key,
        .key_len = sizeof(key),
        .pack = pack,
        .state = st,
        .release = pack_release,
    };

    st->dev = dev;
    if (fold || !pack_plan(&st->loop, dev->loops, p, type, master->ndim, master->dim))
        st->library = onednn_pack_new(dev->onednn, p, ONEDNN_PACK);
    st->source =
        source_new(&d, master, fold, st->library ? onednn_prim_plain_size(p) : 0);
    return region_derive(r, &d);
}

/* ---- the bias that remains of a batch norm or a scale ---- */

struct bias_state {
    int64_t out;
    float eps;
    bool layer_bias;
};

enum { FROM_WEIGHT, FROM_BIAS, FROM_MEAN, FROM_VAR, FROM_LAYER_BIAS };

static void fold_bias(void *dst, void *const *src, void *state)
{
    const struct bias_state *st = state;
    const float *weight = src[FROM_WEIGHT], *bias = src[FROM_BIAS],
                *mean = src[FROM_MEAN], *var = src[FROM_VAR];
    const float *layer = st->layer_bias ? src[FROM_LAYER_BIAS] : NULL;
    float *out = dst;

    for (int64_t o = 0; o < st->out; o++) {
        float scale = batchnorm_scale(weight[o], batchnorm_rstd(var[o], st->eps));

        out[o] = ((layer ? layer[o] : 0) - mean[o]) * scale + bias[o];
    }
}

static void scale_bias(void *dst, void *const *src, void *state)
{
    const struct bias_state *st = state;
    const float *weight = src[0], *layer = st->layer_bias ? src[1] : NULL;
    float *out = dst;

    for (int64_t o = 0; o < st->out; o++)
        out[o] = layer ? layer[o] * weight[o] : 0;
}

int weights_bias(struct region *r, const struct weights_fold *fold,
                 struct tensor *layer_bias)
{
    struct bias_state *st = xcalloc(1, sizeof(*st));
    struct derive d = {
        .size = tensor_size(fold->weight),
        .source = {fold->weight, fold->bias, fold->mean, fold->var, layer_bias},
        .nsource = layer_bias ? 5 : 4,
        .key = "bias",
        .key_len = 4,
        .pack = fold_bias,
        .state = st,
        .release = free,
    };

    if (!fold->var) {
        d.source[1] = layer_bias;
        d.nsource = layer_bias ? 2 : 1;
        d.pack = scale_bias;
    }
    st->out = tensor_len(fold->weight);
    st->eps = fold->eps;
    st->layer_bias = layer_bias != NULL;
    return region_derive(r, &d);
}
