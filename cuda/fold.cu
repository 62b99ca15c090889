/*
 * Folds a batch norm with fixed statistics into the weights before it: small arrays,
 * computed once when weights are loaded. Also adds a layer's bias in place: reads and
 * writes y once.
 */
#include "cuda/fold.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cuda/channels.h"
#include "cuda/divide.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "ops/batchnorm_formula.h"
#include "ops/batchnorm_parts.h"

enum { BLOCK = 256 };

struct fold_state {
    struct device *dev;
    enum dtype type;
    int64_t out, row;         /* output channels; weights per channel as stored */
    int64_t channels, stored; /* input channels of the weights: logical, and in memory */
    float eps;
    bool bias; /* the layer has one */
};

enum { W, W_WEIGHT, W_VAR };
enum { B_BIAS, B_WEIGHT, B_MEAN, B_VAR, B_LAYER };

template <class T>
__global__ void __launch_bounds__(BLOCK)
    fold_weights(const float *w, const float *weight, const float *var, T *dst,
                 int64_t out, int64_t row, int64_t channels, int64_t stored, float eps)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < out * row) {
        int64_t o = i / row, c = i % stored;
        float v = c < channels ? w[i / stored * channels + c] : 0;

        dst[i] =
            from_float<T>(v * batchnorm_scale(weight[o], batchnorm_rstd(var[o], eps)));
    }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    fold_bias(const float *bias, const float *weight, const float *mean, const float *var,
              const float *layer, T *dst, int64_t out, float eps)
{
    int64_t o = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (o < out) {
        float scale = batchnorm_scale(weight[o], batchnorm_rstd(var[o], eps));
        float shift = batchnorm_shift(bias[o], mean[o], scale);

        dst[o] = from_float<T>(layer ? shift + layer[o] * scale : shift);
    }
}

static void pack_weights(void *dst, void *const *src, void *state)
{
    const struct fold_state *st = (const struct fold_state *)state;

    WITH_DTYPE(st->type, T, {
        LAUNCH(st->dev, fold_weights<T>, cuda_blocks(st->out * st->row, BLOCK, 1), BLOCK,
               0, (const float *)src[W], (const float *)src[W_WEIGHT],
               (const float *)src[W_VAR], (T *)dst, st->out, st->row, st->channels,
               st->stored, st->eps);
    });
}

static void pack_bias(void *dst, void *const *src, void *state)
{
    const struct fold_state *st = (const struct fold_state *)state;
    const float *layer = st->bias ? (const float *)src[B_LAYER] : nullptr;

    WITH_DTYPE(st->type, T, {
        LAUNCH(st->dev, fold_bias<T>, cuda_blocks(st->out, BLOCK, 1), BLOCK, 0,
               (const float *)src[B_BIAS], (const float *)src[B_WEIGHT],
               (const float *)src[B_MEAN], (const float *)src[B_VAR], layer, (T *)dst,
               st->out, st->eps);
    });
}

static struct fold_state *new_state(struct device *dev, const struct node *fold,
                                    enum dtype type)
{
    struct fold_state *st = (struct fold_state *)xcalloc(1, sizeof(*st));

    st->dev = dev;
    st->type = type;
    st->out = tensor_len(fold->out[BATCHNORM_FOLD_SHIFT]);
    st->eps = ((const struct batchnorm_part_attrs *)fold->attrs)->eps;
    return st;
}

static struct derive derive_from(struct fold_state *st, int64_t len)
{
    struct derive d = {};

    d.size = (size_t)len * dtype_size(st->type);
    d.key = &st->type;
    d.key_len = sizeof(st->type);
    d.state = st;
    d.release = free;
    return d;
}

int cuda_fold_weights(struct region *r, struct device *dev, struct tensor *w,
                      int64_t stored, const struct node *fold, enum dtype type)
{
    struct fold_state *st = new_state(dev, fold, type);
    struct derive d = derive_from(st, tensor_len(w) / w->dim[1] * stored);

    st->channels = w->dim[1];
    st->stored = stored;
    st->row = tensor_len(w) / st->out / w->dim[1] * stored;
    d.source[W] = w;
    d.source[W_WEIGHT] = fold->in[BATCHNORM_FOLD_WEIGHT];
    d.source[W_VAR] = fold->in[BATCHNORM_FOLD_VAR];
    d.nsource = 3;
    d.pack = pack_weights;
    return region_derive(r, &d);
}

int cuda_fold_bias(struct region *r, struct device *dev, struct tensor *bias,
                   const struct node *fold, enum dtype type)
{
    struct fold_state *st = new_state(dev, fold, type);
    struct derive d = derive_from(st, st->out);

    st->bias = bias != nullptr;
    d.source[B_BIAS] = fold->in[BATCHNORM_FOLD_BIAS];
    d.source[B_WEIGHT] = fold->in[BATCHNORM_FOLD_WEIGHT];
    d.source[B_MEAN] = fold->in[BATCHNORM_FOLD_MEAN];
    d.source[B_VAR] = fold->in[BATCHNORM_FOLD_VAR];
    d.source[B_LAYER] = bias;
    d.nsource = bias ? 5 : 4;
    d.pack = pack_bias;
    return region_derive(r, &d);
}

/* For channels that are not a multiple of a vector, which may then span two pixels. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    add_bias_across(T *y, const float *bias, int64_t n, divider channels)
{
    unsigned v = blockIdx.x * BLOCK + threadIdx.x;
    int64_t i = (int64_t)v * vec<T>::N;
    unsigned c = (v - divide(channels, v) * channels.divisor) * vec<T>::N;

    c -= divide(channels, c) * channels.divisor;
    if (i + vec<T>::N <= n) {
        vec<T> a = vec_load(y + i);

        for (int k = 0; k < vec<T>::N; k++) {
            a.set(k, a.get(k) + bias[c]);
            c = c + 1 == channels.divisor ? 0 : c + 1;
        }
        vec_store(y + i, a);
        return;
    }
    for (; i < n; i++) {
        y[i] = from_float<T>(to_float(y[i]) + bias[c]);
        c = c + 1 == channels.divisor ? 0 : c + 1;
    }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    add_bias(T *y, const float *bias, int64_t vectors, unsigned in_a_row)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x;
    float b[vec<T>::N];

    if (i >= vectors)
        return;
    table_load<vec<T>::N>(bias + i % in_a_row * vec<T>::N, b);

    vec<T> a = vec_load(y + (int64_t)i * vec<T>::N);

    for (int k = 0; k < vec<T>::N; k++)
        a.set(k, a.get(k) + b[k]);
    vec_store(y + (int64_t)i * vec<T>::N, a);
}

void cuda_add_bias(struct device *dev, void *y, enum dtype type, const float *bias,
                   int64_t n, int64_t channels)
{
    WITH_DTYPE(type, T, {
        unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);

        if (channels % vec<T>::N == 0)
            LAUNCH(dev, add_bias<T>, grid, BLOCK, 0, (T *)y, bias, n / vec<T>::N,
                   (unsigned)(channels / vec<T>::N));
        else
            LAUNCH(dev, add_bias_across<T>, grid, BLOCK, 0, (T *)y, bias, n,
                   divider_of((unsigned)channels));
    });
}
