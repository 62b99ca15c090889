/*
 * Shared by the losses of pixels: class weights, the formulas of one pixel on logits in
 * shared memory, and the passes before and after those over the logits.
 */
#ifndef CUDA_CROSS_ENTROPY2D_H
#define CUDA_CROSS_ENTROPY2D_H

#include "cuda/channels.h"
#include "cuda/launch.h"
#include "ops/confusion.h"
#include "ops/cross_entropy2d.h"
#include "ops/metrics.h"

/* Weights per label, 0 for ignored labels: a table in the parameters of a launch. */
struct class_weights {
    float value[CROSS_ENTROPY2D_CLASSES];
};

/*
 * Calls fn(k, z[k]) for all classes, N at a time; N divides their number. L adjacent
 * lanes share a pixel: each has every L-th group of N. With L > 1, all lanes of a warp
 * must participate.
 */
template <int N, int L, class F>
__device__ static inline void each_class(const float *z, int classes, F fn)
{
    for (int k = L > 1 ? (int)threadIdx.x % L * N : 0; k < classes; k += N * L) {
        pack<float, N> a = pack_load<N>(z + k);

        for (int i = 0; i < N; i++)
            fn(k + i, a.v[i]);
    }
}

template <int N, int L = 1>
__device__ static inline float log_sum_exp(const float *z, int classes)
{
    float top = -INFINITY, sum = 0;

    each_class<N, L>(z, classes, [&](int, float v) { top = v > top ? v : top; });
    for (int lanes = L / 2; lanes > 0; lanes /= 2) {
        float v = __shfl_xor_sync(0xffffffffu, top, lanes);

        top = v > top ? v : top;
    }
    each_class<N, L>(z, classes, [&](int, float v) { sum += expf(v - top); });
    for (int lanes = L / 2; lanes > 0; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    return top + logf(sum);
}

/* Returns the first maximum; with a NaN it is never right: class 0 then, as in the
 * reference. */
template <int N, int L = 1>
__device__ static inline int largest(const float *z, int classes)
{
    float top = z[0];
    int index = 0;
    bool nan = false;

    each_class<N, L>(z, classes, [&](int k, float v) {
        nan |= isnan(v);
        if (v > top) {
            top = v;
            index = k;
        }
    });
    for (int lanes = L / 2; lanes > 0; lanes /= 2) {
        float v = __shfl_xor_sync(0xffffffffu, top, lanes);
        int k = __shfl_xor_sync(0xffffffffu, index, lanes);

        nan |= __shfl_xor_sync(0xffffffffu, (int)nan, lanes) != 0;
        if (v > top || (v >= top && k < index)) {
            top = v;
            index = k;
        }
    }
    return nan ? 0 : index;
}

/* Returns the weights of labels 0 to classes - 1. */
class_weights class_weights_of(const struct cross_entropy2d_attrs *a, int classes);

/* label_weights: *total = the sum of the labels' weights; `total` has 1 + label_parts()
 * doubles. */
int label_parts(int64_t pixels);
void label_weights(struct device *dev, const uint8_t *label, int64_t pixels,
                   const class_weights &w, double *total);

/* mean = the sum of n losses over *total, 0 if that is 0. */
void loss_mean(struct device *dev, const double *loss, int n, const double *total,
               float *mean);

/* Clears a batch's K x K matrix before its pixels are counted, and adds it to the state. */
void confusion_begin(struct device *dev, unsigned long long *batch, int64_t classes);
void confusion_end(struct device *dev, const unsigned long long *batch, int64_t classes,
                   const struct confusion_attrs *a, const float *loss, struct metrics *m,
                   int64_t *matrix);

#endif
