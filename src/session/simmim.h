/*
 * MODEL.TASK simmim: pre-training by masked image modeling (SimMIM, Xie et al. 2021, arXiv
 * 2111.09886). The net sees an image whose masked patches are a learned token
 * (models/masking.h); a 1x1 convolution makes s * s pixels of each place of its last map,
 * where s is image size / map size; the loss is the absolute error of the masked pixels.
 *
 * Layers and checkpoints have the names of Microsoft's code: encoder.*, decoder.0. A run
 * that fine-tunes reads such a checkpoint as MODEL.PRETRAINED (train/scheme_table.c).
 */
#ifndef SESSION_SIMMIM_H
#define SESSION_SIMMIM_H

#include "config/config.h"
#include "config/problems.h"
#include "models/table.h"
#include "ops/normalize.h"

/* Pattern of the layers that compute in fp32 in mixed precision: target and loss. */
#define SIMMIM_LAYERS "simmim.*"

struct masking {
    int side;  /* masked and other patches per side of an image */
    int count; /* masked ones */
};

/* Sets the augmentation of the paper, unless keys are set: crops of at least 0.67 of the
 * image, flips, and nothing else. */
void simmim_preset(struct config *cfg);

/* Part of task_check; simmim_warn_unread for other tasks. */
void simmim_check(const struct config *cfg, struct problems *p);
void simmim_warn_unread(const struct config *cfg, struct problems *p);

/* DATA.MASK_PATCH_SIZE and DATA.MASK_RATIO; zero unless MODEL.TASK is simmim. */
struct masking masking_of_config(const struct config *cfg);

/* Returns which patches are masked, fp32 [N, side * side] (ops/patch_mask.h); and the same
 * of the pixels of images of `size` a side, an image [N, 1, size, size]. */
struct tensor *masking_cells(struct builder *b, const struct masking *m,
                             struct tensor *keys);
struct tensor *masking_pixels(struct builder *b, struct tensor *cells, int64_t size);

/* Returns what is to be predicted: the normalized image in fp32; with o->norm_target its
 * pixels by mean and deviation of the windows around them. */
struct tensor *simmim_target(struct builder *b, const struct model_options *o,
                             const struct normalize_attrs *input, struct tensor *bytes,
                             struct tensor *mask);
/* The second half of it, of an image x in fp32. */
struct tensor *simmim_norm(struct builder *b, struct tensor *x, struct tensor *mask,
                           int window);

/* Returns the predicted image [N, C, H, W] of the images x; o->cells is set. */
struct tensor *simmim_net(struct builder *b, const struct model *m,
                          const struct model_options *o, struct tensor *x);

/* Returns the values of an image as [N, C * H * W], for the metrics. */
struct tensor *simmim_values(struct builder *b, struct tensor *x);

/* Returns fp32 [1]: the sum of mask |x - target| over C * (the sum of mask + 1e-5). */
struct tensor *simmim_loss(struct builder *b, struct tensor *x, struct tensor *target,
                           struct tensor *mask);

#endif
