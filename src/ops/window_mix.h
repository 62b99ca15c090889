/*
 * window_mix: Swin-MLP's spatial mixing (Liu et al. 2021, arXiv 2103.14030, appendix
 * A3.3; microsoft/Swin-Transformer: models/swin_mlp.py): in each window the tokens are
 * mixed by one matrix for each head, the same for all features of the head.
 *
 *   x = window_mix(&b, x, "layers.0.blocks.1.spatial_mlp", .heads = 4, .window_h = 8,
 *                  .window_w = 8, .shift = 4)
 *
 * makes "...spatial_mlp.weight" [heads * n, n, 1] and "...spatial_mlp.bias" [heads * n],
 * n = window_h * window_w: a grouped convolution's. x and y are plain [B,H,W,C], and of
 * each window and head y_i = sum_j weight[head n + i][j] x_j + bias[head n + i]. The map
 * is whole windows. With a shift it is padded with zeros, window - shift above and on the
 * left, shift below and on the right, and what falls on the padding is dropped
 * (ops/window_grid.h).
 *
 * The weight starts as N(0, 0.02), the bias as 0.
 */
#ifndef OPS_WINDOW_MIX_H
#define OPS_WINDOW_MIX_H

#include "graph/graph.h"
#include "ops/window_grid.h"

#ifdef __cplusplus
extern "C" {
#endif

struct window_mix_attrs {
    const char *layer;
    int heads;              /* 0: 1; never 0 in a node */
    int window_h, window_w; /* 0: the whole map; never 0 in a node */
    int shift;              /* less than the window */
};

/* y [B,H,W,C]. The bias is fp32 even if x and weights are 16-bit. */
enum { WINDOW_MIX_X, WINDOW_MIX_WEIGHT, WINDOW_MIX_BIAS };
/* dx [B,H,W,C] */
enum { WINDOW_MIX_DATA_GRAD_WEIGHT, WINDOW_MIX_DATA_GRAD_DY };
/* dweight and dbias, fp32 */
enum { WINDOW_MIX_WEIGHT_GRAD_X, WINDOW_MIX_WEIGHT_GRAD_DY };
enum { WINDOW_MIX_WEIGHT_GRAD_DW, WINDOW_MIX_WEIGHT_GRAD_DB, WINDOW_MIX_WEIGHT_GRAD_OUT };

#define window_mix(b, x, ...)                                                            \
    window_mix_((b), (x), &(const struct window_mix_attrs){.layer = __VA_ARGS__})
struct tensor *window_mix_(struct builder *b, struct tensor *x,
                           const struct window_mix_attrs *a);

extern const struct op op_window_mix, op_window_mix_data_grad, op_window_mix_weight_grad;

/* ---- for kernels ---- */

struct window_mix_size {
    struct window_grid grid;
    int64_t images, pixels;    /* pixels of one map */
    int heads, head, channels; /* head: C / heads */
    int windows, tokens;       /* of one map; of one window */
};
/* For a map [B,H,W,C] that a node with these attributes mixes: x, y, or their gradients. */
struct window_mix_size window_mix_size(const struct window_mix_attrs *a,
                                       const struct tensor *map);

#ifdef __cplusplus
}
#endif

#endif
