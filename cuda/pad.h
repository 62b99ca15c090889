/*
 * Images with few channels are stored with zeros after them. cuDNN's tensor-core engines
 * read 16-bit floats eight channels at a time; given three channels they first write a
 * wider copy, a workspace of 200 MiB for the weight gradient of a stem at batch 256, and
 * in bf16 for the forward pass, too. So kernels that convert pixels store eight channels,
 * and convolutions that read them have weights with zeros in the same positions.
 *
 * Convolutions whose result is concatenated write the first channels of a wider tensor.
 * No tensor-core engine writes or reads pixels with gaps between them: it makes a dense
 * copy in the workspace first. So zero filters fill up the tensor, if few are needed, and
 * the op that produces the other channels overwrites them. If the gradient of such a
 * tensor is infinite or NaN in another op's channels, the gradient of the convolution's
 * input becomes NaN at that pixel.
 */
#ifndef CUDA_PAD_H
#define CUDA_PAD_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the channels that x has in memory if that is more than its own, else 0. That is
 * the case for a 16-bit image of normalized or mixed pixels, or a cast of those or of an
 * input, if only convolutions read it. Every claim that writes or reads such a tensor
 * calls this.
 */
int64_t cuda_stored_channels(const struct graph *g, const struct tensor *x);

/* region_write, with space for the channels that x has in memory. */
int cuda_write_stored(struct region *r, const struct graph *g, struct tensor *x);

/*
 * Pads channels, on dev->stream: dst has `stored` channels, a multiple of 8, first those
 * of src, then zeros. Both are aligned to 16 bytes.
 */
void cuda_pad_channels(struct device *dev, void *dst, enum dtype dst_type, int64_t stored,
                       const void *src, enum dtype src_type, int64_t channels,
                       int64_t pixels);
/* The reverse: copies the first `channels` of src's channels. */
void cuda_cut_channels(struct device *dev, void *dst, enum dtype dst_type,
                       int64_t channels, const void *src, enum dtype src_type,
                       int64_t stored, int64_t pixels);

/*
 * True if computing `all` channels, a multiple of 8, is worthwhile when only the first
 * `used` are needed: in 16-bit floats, and up to a third more, as these layers are not
 * bound by GEMMs.
 */
static inline bool cuda_pays_to_fill(enum dtype type, int64_t used, int64_t all)
{
    return dtype_is_half(type) && all % 8 == 0 && all > used && 3 * all <= 4 * used;
}

/* Returns the tensor whose first channels are t, if filling it is worthwhile, or NULL. */
struct tensor *cuda_joined(const struct tensor *t);

/*
 * The derived buffer of the fp32 parameter w, O x kH x kW x I, padded to `filters` for O
 * and `stored` for I; or of a vector, padded to `stored` elements. One of them, or the
 * length of the vector, is a multiple of 8.
 */
int cuda_padded_weights(struct region *r, struct device *dev, struct tensor *w,
                        int64_t filters, int64_t stored, enum dtype type);

#ifdef __cplusplus
}
#endif

#endif
