/*
 * Convolutions by our own loops: their shape, and the interface of a set of loops. All
 * sets share their claims (conv2d_own.c).
 */
#ifndef CPU_CONV_CONV_H
#define CPU_CONV_CONV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cpu/device.h"
#include "cpu/simd/loop_activation.h"
#include "graph/tensor.h"

/* A convolution; depthwise: each channel is a group. Gradients use the shape of their
 * forward convolution. */
struct conv_shape {
    enum dtype type; /* of x and y */
    int n, h, w, c;  /* of x */
    int ho, wo, k;   /* of y */
    int kernel_h, kernel_w, stride_h, stride_w, pad_h, pad_w, dilation_h, dilation_w;
    int groups;             /* 0: one */
    bool depthwise, linear; /* linear: a layer on rows, as a 1 x 1 convolution */
    bool widen;             /* GEMMs widen bf16 to fp32 (struct device) */
};

static inline int conv_groups(const struct conv_shape *s)
{
    return s->groups > 1 ? s->groups : 1;
}

/* Stride 1, same size: the data gradient of s is a forward convolution of this shape. */
static inline struct conv_shape conv_rotated(const struct conv_shape *s)
{
    struct conv_shape back = *s;

    back.c = s->k;
    back.k = s->c;
    return back;
}

/* The arguments of forward and data gradient; images are NHWC. */
struct conv_args {
    const void *src;    /* x, or dy */
    const void *packed; /* weights packed for this direction */
    const float *bias;  /* per channel of the result, or NULL */
    const void *add;    /* of the result's shape, may be the result itself; or NULL */
    /* of the result's shape: the result is 0 where this is <= 0; or NULL */
    const void *relu_mask;
    void *dst; /* the result: y, or dx */
    struct loop_activation act;
    void *scratch;
};

/* What the forward loops can fuse in addition to a bias and an activation. */
enum conv_chains {
    CONV_CHAINS_NONE,
    CONV_CHAINS_FOLD, /* a folded batch norm */
    CONV_CHAINS_RELU, /* also add, followed by nothing or a relu */
    CONV_CHAINS_ALL,  /* all of chain.h */
};

struct conv_loops {
    const char *name; /* in the kernel table (cpu/kernel_table.h) */
    /* Return NULL if the loops support it on this device, else a static reason. */
    const char *(*forward_can)(const struct device *dev, const struct conv_shape *s);
    const char *(*data_grad_can)(const struct device *dev, const struct conv_shape *s);
    const char *(*weight_grad_can)(const struct device *dev, const struct conv_shape *s);
    /* Rules for shapes without a measured choice. Return why oneDNN is faster, or NULL if
     * these loops are. Without a rule (NULL), these loops are always chosen. */
    const char *(*slower)(const struct device *dev, const struct conv_shape *s);
    const char *(*weight_grad_slower)(const struct device *dev,
                                      const struct conv_shape *s);
    bool depthwise; /* for these shapes, with any padding at the end; else for others */
    bool grouped;   /* also for groups of several channels */
    bool linear;    /* also for linear layers, as 1 x 1 convolutions of their rows */
    bool rounds_zeros; /* a sum of zeros may become a rounding error */
    bool unfused;      /* no bias, activation, or ReLU mask */
    bool no_db;        /* the weight gradient does not compute the bias gradient */
    enum conv_chains chains;
    /* of a transposed convolution: the data gradient may have a bias */
    bool data_grad_bias;

    /* Packs fp32 OHWI weights to `packed` bytes for one direction. */
    size_t (*packed)(const struct conv_shape *s);
    void (*pack)(const struct device *dev, const struct conv_shape *s, void *packed,
                 const float *w, bool backward);

    /* Bytes of scratch for each run function below. */
    size_t (*forward_scratch)(const struct conv_shape *s, int threads);
    size_t (*data_grad_scratch)(const struct conv_shape *s, int threads);
    size_t (*weight_grad_scratch)(const struct conv_shape *s, int threads);

    void (*forward)(const struct device *dev, const struct conv_shape *s,
                    const struct conv_args *a);
    void (*data_grad)(const struct device *dev, const struct conv_shape *s,
                      const struct conv_args *a);
    /* dw fp32 OHWI; db[k] may be NULL */
    void (*weight_grad)(const struct device *dev, const struct conv_shape *s,
                        const void *x, const void *dy, float *dw, float *db,
                        void *scratch);
};

/* A rule `slower` for loops that multiply pairs of bf16: with fewer channels, copies of
 * windows and Winograd's transforms cost more than they save. */
static inline const char *conv_pairs_slower(const struct device *dev,
                                            const struct conv_shape *s)
{
    bool many = s->c >= 64 && s->k >= 64;

    (void)dev;
    return s->type == DTYPE_BF16 && s->widen && many ? "bf16 widened to fp32 is faster"
                                                     : NULL;
}

static inline int min_int(int64_t n, int max)
{
    return n < max ? (int)n : max;
}

static inline int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/*
 * Rounds a row of `floats` (a multiple of 16) up to an odd number of cache lines: rows
 * whose distance is a power of two map to the same cache set.
 */
static inline int odd_lines(int floats)
{
    return floats / 16 % 2 ? floats : floats + 16;
}

extern const struct conv_loops conv_amx, conv_depthwise, conv_direct, conv_gemm,
    conv_narrow, conv_winograd;

#endif
