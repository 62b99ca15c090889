/*
 * Images with few channels stored with zeros after them. cuDNN's tensor-core engines
 * read 16-bit floats eight channels at a time; given three they first write a wider copy,
 * a workspace of 200 MiB for the weight gradient of a stem at batch 256, and in bf16 for
 * the forward pass too. So whoever makes values from pixels stores eight, and the
 * convolutions that read them have weights with zeros in the same places.
 *
 * And convolutions whose result is concatenated: it is the first channels of a wider
 * tensor. No tensor-core engine writes or reads pixels with gaps between them: it makes a
 * dense copy in the workspace first. So filters of zeros fill up the tensor, where they
 * are few, and the op that makes the other channels overwrites what they give. Where the
 * gradient of such a tensor is infinite or NaN, the gradient of the convolution's input
 * becomes NaN there, though the NaN was in another op's channels.
 */
#ifndef CUDA_PAD_H
#define CUDA_PAD_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Channels that x has in memory if that is more than its own, else 0: an image in 16-bit
 * floats, of pixels normalized or mixed, or made by a cast of those or of an input, and
 * read by convolutions alone. Every claim that writes or reads such a tensor asks here.
 */
int64_t cuda_stored_channels(const struct graph *g, const struct tensor *x);

/* region_write, with room for the channels that x has in memory. */
int cuda_write_stored(struct region *r, const struct graph *g, struct tensor *x);

/*
 * On dev->stream: dst has `stored` channels, a multiple of 8, the first of them src's
 * and zeros after; both start at multiples of 16 bytes.
 */
void cuda_pad_channels(struct device *dev, void *dst, enum dtype dst_type, int64_t stored,
                       const void *src, enum dtype src_type, int64_t channels,
                       int64_t pixels);
/* And back: the first `channels` of src's. */
void cuda_cut_channels(struct device *dev, void *dst, enum dtype dst_type,
                       int64_t channels, const void *src, enum dtype src_type,
                       int64_t stored, int64_t pixels);

/*
 * Are `all` channels, a multiple of 8, as good as the first `own`? In 16-bit floats, and
 * up to a third more: GEMMs are not what these layers wait for.
 */
static inline bool cuda_pays_to_fill(enum dtype type, int64_t own, int64_t all)
{
    return dtype_is_half(type) && all % 8 == 0 && all > own && 3 * all <= 4 * own;
}

/* The tensor that t is the first channels of, if it pays to fill it; or NULL. */
struct tensor *cuda_joined(const struct tensor *t);

/*
 * The derived buffer of the fp32 parameter w, O x kH x kW x I, with `filters` for O and
 * `stored` for I; or of a vector, with `stored` elements. One of both, or the length of
 * the vector, is a multiple of 8.
 */
int cuda_padded_weights(struct region *r, struct device *dev, struct tensor *w,
                        int64_t filters, int64_t stored, enum dtype type);

#ifdef __cplusplus
}
#endif

#endif
