/*
 * The taps of a resampled axis: which positions of the input an output position is a
 * weighted sum of. All modes are separable, and the gradient is the same sum with the
 * transposed taps, so that one kernel serves both.
 *
 * Positions and weights are those of PyTorch's torch.nn.functional.interpolate
 * (ATen/native/UpSample.h): bicubic with a = -0.75 and clamped positions, or, with
 * antialias, Pillow's filters, for bicubic with a = -0.5.
 */
#ifndef OPS_RESAMPLE_TAPS_H
#define OPS_RESAMPLE_TAPS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum resample_mode {
    RESAMPLE_BILINEAR,
    RESAMPLE_BICUBIC,
    RESAMPLE_NEAREST,
    RESAMPLE_NEAREST_EXACT,
    RESAMPLE_MODES
};

struct resample_axis {
    int mode; /* enum resample_mode */
    bool align_corners, antialias;
    double scale; /* factor of the sizes; 0: out / in */
    int64_t in, out;
};

/* Output o is the sum of weight[o width + k] x[first[o] + k] for k in [0, count[o]). */
struct resample_taps {
    int64_t n; /* outputs */
    int width; /* the largest count */
    int *first, *count;
    float *weight;
};

/* Of n outputs without taps, to which those at position i are added, in ascending order. */
struct resample_taps resample_taps_new(int64_t n, int width);
void resample_taps_add(struct resample_taps *t, int64_t o, int64_t i, double weight);

/* Allocated; release with resample_taps_release, which accepts zeroed taps. */
struct resample_taps resample_taps_of(const struct resample_axis *a);
/* Those of the gradient: n is the length of the input. */
struct resample_taps resample_taps_transposed(const struct resample_taps *t, int64_t in);
void resample_taps_release(struct resample_taps *t);

#ifdef __cplusplus
}
#endif

#endif
