/*
 * Adds zeros after channels and filters, and removes them again: reads and writes each
 * element once. A thread writes 16 bytes of the wider side, or one element of the
 * narrower one, which only small weights use.
 */
#include "cuda/pad.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "cuda/divide.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "cuda/weights.h"
#include "ops/cast.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/mix.h"
#include "ops/normalize.h"

enum { BLOCK = 256, STORED = 8 };

/* True for values of pixels: an input, or normalized or mixed pixels, maybe through a cast. */
static bool of_pixels(const struct tensor *x)
{
    const struct node *src = x->producer;

    if (src && src->op == &op_cast) {
        x = src->in[CAST_X];
        src = x->producer;
    }
    return src ? src->op == &op_normalize || src->op == &op_mix
                : x->kind == TENSOR_INPUT;
}

/* True for a convolution without groups, or the gradient of its weights. */
static bool convolves(const struct node *n, const struct tensor *x)
{
    if (n->op == &op_conv2d)
        return n->in[CONV2D_X] == x && cuda_weights_master(n->in[CONV2D_WEIGHT]) &&
               n->in[CONV2D_WEIGHT]->dim[1] == x->dim[1];
    return n->op == &op_conv2d_weight_grad && n->in[CONV2D_WEIGHT_GRAD_X] == x &&
           n->in[CONV2D_WEIGHT_GRAD_DY] != x && n->out[0]->dim[1] == x->dim[1];
}

int64_t cuda_stored_channels(const struct graph *g, const struct tensor *x)
{
    const struct node *n;

    if (x->layout != LAYOUT_IMAGE || x->dim[1] >= STORED || !dtype_is_half(x->dtype) ||
        x->root || !of_pixels(x))
        return 0;
    for (int i = 0; (n = tensor_reader(g, x, i)) != nullptr; i++)
        if (!convolves(n, x))
            return 0;
    return STORED;
}

struct tensor *cuda_joined(const struct tensor *t)
{
    int64_t start;
    struct tensor *whole = channel_slice_of(t, &start);

    return whole && start == 0 && cuda_pays_to_fill(t->dtype, t->dim[1], whole->dim[1])
               ? whole
               : nullptr;
}

int cuda_write_stored(struct region *r, const struct graph *g, struct tensor *x)
{
    int64_t stored = cuda_stored_channels(g, x);
    int pos = region_write(r, x);

    if (stored)
        region_room(r, pos, tensor_size(x) / (size_t)x->dim[1] * (size_t)stored);
    return pos;
}

/* vectors: number of vectors of dst; stored: divider by the vectors per pixel. */
template <class S, class D>
__global__ void __launch_bounds__(BLOCK)
    pad_channels(const S *src, int64_t channels, int64_t pixels, D *dst, divider stored,
                 unsigned vectors)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x, pixel = divide(stored, i);
    int64_t first = (int64_t)(i - pixel * stored.divisor) * vec<D>::N;
    vec<D> a;

    if (i >= vectors)
        return;
    for (int k = 0; k < vec<D>::N; k++)
        a.set(k, first + k < channels && pixel < pixels
                     ? to_float(src[pixel * channels + first + k])
                     : 0);
    vec_store(dst + (int64_t)i * vec<D>::N, a);
}

template <class S, class D>
__global__ void __launch_bounds__(BLOCK)
    cut_channels(const S *src, int64_t stored, D *dst, divider channels, unsigned n)
{
    unsigned i = blockIdx.x * BLOCK + threadIdx.x, pixel = divide(channels, i);

    if (i < n)
        dst[i] = from_float<D>(to_float(src[pixel * stored + i - pixel * channels.divisor]));
}

/* Writes n elements of dst; pixels of zeros follow those of src. */
static void pad(struct device *dev, void *dst, enum dtype dst_type, int64_t stored,
                const void *src, enum dtype src_type, int64_t channels, int64_t pixels,
                int64_t n)
{
    WITH_DTYPE(src_type, S, {
        WITH_DTYPE(dst_type, D, {
            int64_t vectors = n / vec<D>::N;

            if (vectors > INT32_MAX || stored % vec<D>::N)
                BUG("%" PRId64 " elements, %" PRId64 " to a pixel", n, stored);
            LAUNCH(dev, (pad_channels<S, D>), cuda_blocks(vectors, BLOCK, 1), BLOCK, 0,
                   (const S *)src, channels, pixels, (D *)dst,
                   divider_of((unsigned)(stored / vec<D>::N)), (unsigned)vectors);
        });
    });
}

void cuda_pad_channels(struct device *dev, void *dst, enum dtype dst_type, int64_t stored,
                       const void *src, enum dtype src_type, int64_t channels,
                       int64_t pixels)
{
    pad(dev, dst, dst_type, stored, src, src_type, channels, pixels, pixels * stored);
}

void cuda_cut_channels(struct device *dev, void *dst, enum dtype dst_type,
                       int64_t channels, const void *src, enum dtype src_type,
                       int64_t stored, int64_t pixels)
{
    int64_t n = pixels * channels;

    WITH_DTYPE(src_type, S, {
        WITH_DTYPE(dst_type, D, {
            if (n > INT32_MAX)
                BUG("%" PRId64 " weights", n);
            LAUNCH(dev, (cut_channels<S, D>), cuda_blocks(n, BLOCK, 1), BLOCK, 0,
                   (const S *)src, stored, (D *)dst, divider_of((unsigned)channels),
                   (unsigned)n);
        });
    });
}

struct pad_state {
    struct device *dev;
    enum dtype type;
    int64_t stored, channels, pixels, n; /* n: total elements */
};

static void pad_pack(void *dst, void *const *src, void *state)
{
    const struct pad_state *st = (const struct pad_state *)state;

    pad(st->dev, dst, st->type, st->stored, src[0], DTYPE_F32, st->channels, st->pixels,
        st->n);
}

int cuda_padded_weights(struct region *r, struct device *dev, struct tensor *w,
                        int64_t filters, int64_t stored, enum dtype type)
{
    struct pad_state *st = (struct pad_state *)xcalloc(1, sizeof(*st));
    int64_t key[] = {filters, stored, type}, channels = w->dim[w->ndim == 1 ? 0 : 1];
    struct derive d = {};

    *st = {dev, type, stored, channels, tensor_len(w) / channels, stored};
    if (w->ndim > 1)
        st->n = st->pixels / w->dim[0] * filters * stored;
    if (stored == channels) { /* zeros only at the end: treat all as one pixel */
        st->stored = st->n;
        st->channels = tensor_len(w);
        st->pixels = 1;
    }
    d.size = (size_t)st->n * dtype_size(type);
    d.source[0] = w;
    d.nsource = 1;
    d.key = key;
    d.key_len = sizeof(key);
    d.pack = pad_pack;
    d.state = st;
    d.release = free;
    return region_derive(r, &d);
}
