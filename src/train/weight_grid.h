/*
 * Resizes parameters on a grid: position embeddings on the grid of patches, and relative
 * position bias tables on the grid of offsets.
 *
 * Bicubic interpolation is that of torch.nn.functional.interpolate(mode="bicubic",
 * align_corners=False): half-pixel centers; a = -0.75 and repeated edges, or with
 * antialias a = -0.5 and a kernel that scales with the step and is truncated at the
 * edges. Swin's loader (microsoft/Swin-Transformer: utils.py) resizes without antialias,
 * timm's resample_abs_pos_embed with it. GRID_GEOMETRIC is for tables of offsets, as in
 * BEiT and timm's resize_rel_pos_bias_table: the old table's offsets are placed at
 * distances that grow geometrically from the center to the new table's edge, with linear
 * interpolation between them.
 */
#ifndef TRAIN_WEIGHT_GRID_H
#define TRAIN_WEIGHT_GRID_H

#include <stdbool.h>
#include <stdint.h>

#include "models/table.h"

/*
 * The rows of a table [..., rows, channels]: `tokens` rows, then a grid of `side` x `side`;
 * with `suffix`, the grid comes first. weight_grid_of() chooses the largest square that fits
 * into `rows`.
 */
struct weight_grid {
    int64_t tokens, side;
    bool suffix;
};
struct weight_grid weight_grid_of(int64_t rows);

/* Resizes fp32 [tokens + side^2, channels] from grid `source` to grid `target`. Copies the
 * rows of tokens, whose number must be the same. */
void weight_grid_resize(const float *src, struct weight_grid source, float *dst,
                        struct weight_grid target, int64_t channels,
                        enum grid_method method);

#endif
