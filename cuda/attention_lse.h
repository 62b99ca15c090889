/*
 * Memory layouts of cuDNN's attention (cuda/attention_cudnn.c): converts the op's fp32
 * lse, [images][tokens][heads], to [images][heads][tokens], and back.
 */
#ifndef CUDA_ATTENTION_LSE_H
#define CUDA_ATTENTION_LSE_H

#include "cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct attention_lse {
    int64_t images, heads, tokens; /* product below 2^31 */
};

/* lengths: may be NULL; set to `images` times `tokens`. */
void cuda_lse_by_head(struct device *dev, const struct attention_lse *k, const void *lse,
                      void *by_head, void *lengths);
void cuda_lse_by_token(struct device *dev, const struct attention_lse *k,
                       const void *by_head, void *lse);

#ifdef __cplusplus
}
#endif

#endif
