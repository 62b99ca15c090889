/*
 * Parameters that lie on a grid, for a grid of another size: position embeddings on that
 * of the patches, relative position bias tables on that of the offsets.
 *
 * Bicubic interpolation as torch.nn.functional.interpolate(mode="bicubic",
 * align_corners=False) has it: half-pixel centres; a = -0.75 and edges repeated, or with
 * antialias a = -0.5 and a kernel that is as wide as the step, cut off at the edges.
 * Swin's loader (microsoft/Swin-Transformer: utils.py) resizes without antialias, timm's
 * resample_abs_pos_embed with it. GRID_GEOMETRIC is for tables of offsets, as BEiT and
 * timm's resize_rel_pos_bias_table have it: the old table's offsets lie at steps that grow
 * geometrically from the centre to the new table's edge, and values between them are
 * linear.
 */
#ifndef TRAIN_WEIGHT_GRID_H
#define TRAIN_WEIGHT_GRID_H

#include <stdint.h>

#include "models/table.h"

/*
 * The rows of a table [..., rows, channels]: `prefix` tokens, then a square of `side` x
 * `side`. Both from the number of rows alone: a square that large leaves the fewest.
 */
struct weight_grid {
    int64_t prefix, side;
};
struct weight_grid weight_grid_of(int64_t rows);

/* fp32 [from prefix + side^2, channels] to [to ...]. The prefix is copied and must be the
 * same. */
void weight_grid_resize(const float *src, struct weight_grid from, float *dst,
                        struct weight_grid to, int64_t channels, enum grid_method method);

#endif
