/*
 * normalize [+ the cast after it]: converts bytes to normalized values in one launch.
 *
 * A thread reads as many bytes of x as 16 bytes of y have elements, both aligned, with
 * the channels' factors in registers, rotated to its first channel. Bytes: x and y once.
 * With zeros after the channels (cuda/pad.h), a thread writes a whole pixel.
 */
#include "base/error.h"
#include "cuda/channels.h"
#include "cuda/device.h"
#include "cuda/kernels.h"
#include "cuda/pad.h"
#include "graph/kernel.h"
#include "graph/tensor.h"
#include "ops/cast.h"
#include "ops/normalize.h"
#include "ops/pointwise.h"

enum { BLOCK = 256, PADDED = 8 };

/* y = x scale + shift, per channel. */
struct factors {
    float scale[NORMALIZE_CHANNELS], shift[NORMALIZE_CHANNELS];
};

/* N bytes, accessed at once. */
template <int N> struct alignas(N) bytes {
    uint8_t v[N];
};

template <class T, int C>
__global__ void __launch_bounds__(BLOCK)
    normalize_bytes(const uint8_t *x, T *y, int64_t n, factors f)
{
    constexpr int N = vec<T>::N;
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * N;
    int first = (int)(i % C);
    float scale[C], shift[C]; /* for the thread's elements 0 to C - 1 */

    for (int k = 0; k < C; k++)
        for (int c = 0; c < C; c++)
            if (c == (first + k) % C) {
                scale[k] = f.scale[c];
                shift[k] = f.shift[c];
            }
    if (i + N <= n) {
        bytes<N> b = *reinterpret_cast<const bytes<N> *>(x + i);
        vec<T> a;

        for (int k = 0; k < N; k++)
            a.set(k, normalize_value(b.v[k], scale[k % C], shift[k % C]));
        vec_store(y + i, a);
        return;
    }
    for (int k = 0; k < N; k++)
        if (i + k < n)
            y[i + k] =
                from_float<T>(normalize_value(x[i + k], scale[k % C], shift[k % C]));
}

/* For channels too many to keep in registers: one element per thread. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    normalize_bands(const uint8_t *x, int channels, T *y, int64_t n, factors f)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        y[i] = from_float<T>(
            normalize_value(x[i], f.scale[i % channels], f.shift[i % channels]));
}

/* One pixel per thread: stores S channels, of which `channels` are not zero. */
template <class T, int S>
__global__ void __launch_bounds__(BLOCK)
    normalize_padded(const uint8_t *x, int channels, T *y, int64_t pixels, factors f)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
    pack<T, S> a;

    if (i >= pixels)
        return;
    for (int c = 0; c < S; c++)
        a.set(c, c < NORMALIZE_CHANNELS && c < channels
                     ? normalize_value(x[i * channels + c], f.scale[c], f.shift[c])
                     : 0);
    pack_store<T, S>(y + i * S, a);
}

static factors factors_of(const struct normalize_attrs *a, int channels)
{
    factors f = {};

    for (int c = 0; c < channels; c++) {
        f.scale[c] = normalize_scale(a->std[c]);
        f.shift[c] = normalize_shift(a->mean[c], a->std[c]);
    }
    return f;
}

template <class T>
static void launch_bytes(struct device *dev, const uint8_t *x, int channels, T *y,
                         int64_t pixels, const factors &f)
{
    int64_t n = pixels * channels;
    unsigned grid = cuda_blocks(n, BLOCK, vec<T>::N);

    if (channels == 1)
        LAUNCH(dev, (normalize_bytes<T, 1>), grid, BLOCK, 0, x, y, n, f);
    else if (channels == 2)
        LAUNCH(dev, (normalize_bytes<T, 2>), grid, BLOCK, 0, x, y, n, f);
    else if (channels == 3)
        LAUNCH(dev, (normalize_bytes<T, 3>), grid, BLOCK, 0, x, y, n, f);
    else if (channels == 4)
        LAUNCH(dev, (normalize_bytes<T, 4>), grid, BLOCK, 0, x, y, n, f);
    else
        LAUNCH(dev, (normalize_bands<T>), cuda_blocks(n, BLOCK, 1), BLOCK, 0, x, channels,
               y, n, f);
}

/* x is NHWC bytes; y has `stored` channels: the same number, or 8 in 16-bit floats,
 * padded with zeros. Both are aligned to 16 bytes. */
static void launch(struct device *dev, const struct normalize_attrs *a, const void *x,
                   int channels, void *y, enum dtype dtype, int stored, int64_t pixels)
{
    factors f = factors_of(a, channels);

    if (stored != channels && (stored != PADDED || dtype == DTYPE_F32))
        BUG("%d channels of %s stored as %d", channels, dtype_name(dtype), stored);
    WITH_DTYPE(dtype, T, {
        if (stored == channels)
            launch_bytes(dev, (const uint8_t *)x, channels, (T *)y, pixels, f);
        else
            LAUNCH(dev, (normalize_padded<T, PADDED>), cuda_blocks(pixels, BLOCK, 1),
                   BLOCK, 0, (const uint8_t *)x, channels, (T *)y, pixels, f);
    });
}

/* Includes the cast directly after it if that is the only reader of the result. */
static const char *normalize_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *)
{
    struct node *norm = n;

    if (n->op == &op_cast)
        norm = sole_producer(g, n->in[CAST_X], &op_normalize);
    if (!norm || norm->op != &op_normalize || !node_free(norm))
        return "not a normalize, nor a cast directly after one";

    region_claim(r, norm);
    if (n != norm)
        region_claim(r, n);
    (void)region_read(r, norm->in[NORMALIZE_X]);
    *(int *)region_state(r) = (int)cuda_stored_channels(g, n->out[0]);
    (void)cuda_write_stored(r, g, n->out[0]);
    return nullptr;
}

static void normalize_run(struct step *s, struct device *dev)
{
    const struct node *n = s->node;
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    int stored = *(const int *)s->state;

    if (n->op == &op_cast)
        n = n->in[0]->producer;
    launch(dev, (const struct normalize_attrs *)n->attrs, s->in[0], (int)x->dim[1],
           s->out[0], y->dtype, stored ? stored : (int)x->dim[1],
           tensor_len(x) / x->dim[1]);
}

extern const struct kernel cuda_normalize_kernel = {
    .name = "cuda normalize",
    .claim = normalize_claim,
    .run = normalize_run,
    .state_size = sizeof(int),
};
