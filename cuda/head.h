/*
 * Shared by cuda/head.cu and cuda/head_grad.cu: the last layer of a segmentation network,
 * a transposed convolution 2x2 with stride 2 from 16 channels to the classes, computed
 * where its logits are needed, so that they are never stored.
 *
 * Kernel size and stride are equal, so an output pixel has one input pixel and one of the
 * kernel's four positions, its tap: tap 2 i + j of input pixel (h, w) produces the logits
 * of output pixel (2 h + i, 2 w + j). A block of four warps processes 32 neighboring
 * input pixels (a tile): lane l of warp t has the logits of pixel l and tap t, in shared
 * memory, a row per thread, rounded as if stored.
 */
#ifndef CUDA_HEAD_H
#define CUDA_HEAD_H

#include "cuda/cross_entropy2d.h"
#include "cuda/divide.h"
#include "cuda/head_find.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/conv2d.h"
#include "ops/image.h"

constexpr int HEAD_TAPS = 4, HEAD_TILE = 32, HEAD_BLOCK = HEAD_TILE * HEAD_TAPS;
/* Up to this number, kernels use fewer registers and shorter rows. */
constexpr int HEAD_FEW_CLASSES = HEAD_CLASSES / 2;

template <class T> struct head {
    const T *x;
    const float *w, *bias; /* w [channel][tap][class] */
    const uint8_t *label;
    int64_t pixels; /* pixels of x */
    divider width;
    int classes, tiles;
};

/* Floats of shared memory for the weights, [tap][class][channel]. */
HOST_DEVICE static inline int head_weights_len(int classes)
{
    return HEAD_TAPS * classes * HEAD_CHANNELS;
}

/* Floats from one thread's logits to the next's: all classes that a gradient's lanes
 * process together, and odd, so that the 32 lanes of a warp use 32 banks. */
HOST_DEVICE static inline int head_pitch(int classes)
{
    return (classes <= HEAD_FEW_CLASSES ? HEAD_FEW_CLASSES : HEAD_CLASSES) + 1;
}

template <class T> __device__ static inline float head_as_stored(float v)
{
    return to_float(from_float<T>(v));
}

/* Ends with a barrier. */
template <class T>
__device__ static inline void head_load_weights(const head<T> &h, float *w)
{
    for (int i = (int)threadIdx.x; i < head_weights_len(h.classes); i += HEAD_BLOCK) {
        int c = i % HEAD_CHANNELS, k = i / HEAD_CHANNELS % h.classes;
        int tap = i / HEAD_CHANNELS / h.classes;

        w[i] = head_as_stored<T>(h.w[(c * HEAD_TAPS + tap) * h.classes + k]);
    }
    __syncthreads();
}

/* The pixel of x and the tap of a thread. */
struct head_pixel {
    int64_t pixel;
    int tap;
    bool valid; /* the pixel exists (the last tile may be incomplete) */
};

template <class T>
__device__ static inline head_pixel head_pixel_of(const head<T> &h, int tile)
{
    int64_t pixel = (int64_t)tile * HEAD_TILE + threadIdx.x % HEAD_TILE;

    return {pixel, (int)threadIdx.x / HEAD_TILE, pixel < h.pixels};
}

template <class T>
__device__ static inline int head_label_of(const head<T> &h, const head_pixel &s)
{
    unsigned row = divide(h.width, (unsigned)s.pixel);
    unsigned column = (unsigned)s.pixel - row * h.width.divisor;
    int64_t out_row = 2 * (int64_t)row + s.tap / 2;

    return h.label[out_row * 2 * h.width.divisor + 2 * column + s.tap % 2];
}

/* Loads the channels of the pixel to v and computes its logits z. */
template <class T>
__device__ static inline void head_logits(const head<T> &h, const head_pixel &s,
                                          const float *w, float *v, float *z)
{
    constexpr int N = vec<T>::N;

    for (int c = 0; c < HEAD_CHANNELS; c += N) {
        vec<T> a = vec_load(h.x + s.pixel * HEAD_CHANNELS + c);

        for (int i = 0; i < N; i++)
            v[c + i] = a.get(i);
    }
    w += s.tap * h.classes * HEAD_CHANNELS;
    for (int k = 0; k < h.classes; k++, w += HEAD_CHANNELS) {
        float sum = h.bias ? h.bias[k] : 0;

        for (int c = 0; c < HEAD_CHANNELS; c += 4) {
            vec<float> a = vec_load(w + c);

            for (int i = 0; i < 4; i++)
                sum += v[c + i] * a.v[i];
        }
        z[k] = head_as_stored<T>(sum);
    }
}

#endif
