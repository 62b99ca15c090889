/* Host side of the head's steps, forward and backward: inputs and number of blocks. */
#ifndef CUDA_HEAD_STEP_H
#define CUDA_HEAD_STEP_H

#include "cuda/head.h"

/* Inputs of both kernels, as indices of reads; bias is -1 if there is none. */
struct head_reads {
    int x, w, bias, label;
};

static inline head_reads head_read(struct region *r, const head_parts *p,
                                   struct tensor *labels)
{
    head_reads in = {};
    struct node *cast = p->up->in[CONV2D_DATA_GRAD_WEIGHT]->producer;

    if (cast)
        region_duplicate(r, cast);
    in.x = region_read(r, p->x);
    in.w = region_read(r, p->w);
    in.bias = p->bias ? region_read(r, p->bias) : -1;
    in.label = region_read(r, labels);
    return in;
}

static inline int64_t head_tiles(const struct tensor *x)
{
    return (tensor_len(x) / HEAD_CHANNELS + HEAD_TILE - 1) / HEAD_TILE;
}

/* Returns the number of blocks: `each` per multiprocessor, the number that its registers
 * and shared memory hold. */
static inline int head_blocks(const struct device *dev, const struct tensor *x, int each)
{
    int64_t limit = (int64_t)dev->what.multiprocessors * each, tiles = head_tiles(x);

    return (int)(tiles < limit ? tiles : limit);
}

/*
 * Both kernels' workspaces begin with the sum of the labels' weights and its parts.
 */
static inline int64_t head_label_doubles(const struct tensor *x)
{
    return 1 + label_parts(tensor_len(x) / HEAD_CHANNELS * HEAD_TAPS);
}

template <class T>
static inline head<T> head_of(const struct step *s, const head_reads &in, int classes)
{
    const struct tensor *x = s->in_tensor[in.x];

    return {(const T *)s->in[in.x],
            (const float *)s->in[in.w],
            in.bias < 0 ? nullptr : (const float *)s->in[in.bias],
            (const uint8_t *)s->in[in.label],
            tensor_len(x) / HEAD_CHANNELS,
            divider_of((unsigned)x->dim[IMAGE_W]),
            classes,
            (int)head_tiles(x)};
}

#endif
