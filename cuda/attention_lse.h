/*
 * What cuDNN's attention wants in memory of its own (cuda/attention_cudnn.c): lse fp32 of
 * the op, [images][tokens][heads], as [images][heads][tokens], and the other way round.
 */
#ifndef CUDA_ATTENTION_LSE_H
#define CUDA_ATTENTION_LSE_H

#include "cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attention_lse {
    int64_t images, heads, tokens; /* less than 2^31 of all */
};

/* lengths: or NULL; `images` times `tokens`. */
void cuda_lse_by_head(struct device *dev, const struct attention_lse *k, const void *lse,
                      void *by_head, void *lengths);
void cuda_lse_by_token(struct device *dev, const struct attention_lse *k,
                       const void *by_head, void *lse);

#ifdef __cplusplus
}
#endif

#endif
