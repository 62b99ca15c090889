/*
 * cpb_table: SwinV2's continuous position bias (Liu et al. 2021, arXiv 2111.09883,
 * section 3.3) as a table for ops/window_attention.h, fp32 [(2 window_h - 1)(2 window_w -
 * 1), heads]. It depends only on weights, so it is made once per step.
 *
 *   t = cpb_table(&b, "layers.0.blocks.0.attn.cpb_mlp", .heads = 3, .window_h = 8,
 *                 .window_w = 8)
 *
 * makes "...cpb_mlp.0.weight" [512,2], "...cpb_mlp.0.bias" [512] and
 * "...cpb_mlp.2.weight" [heads,512]. Row (y, x) is the offset t = y - (window_h - 1), and
 * alike x:
 *
 *   u = 8 t / (w' - 1),  c = sign(u) log2(|u| + 1) / 3
 *   table = 16 sigmoid(W2 relu(W0 (c_y, c_x) + b0))
 *
 * with w' the pretrained window if there is one, else the window. timm: models/
 * swin_transformer_v2.py. Weights start as N(0, 0.02), the bias as 0.
 */
#ifndef OPS_CPB_TABLE_H
#define OPS_CPB_TABLE_H

#include <math.h>

#include "base/hostdev.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CPB_HIDDEN = 512, CPB_SCALE = 16 };

struct cpb_table_attrs {
    const char *layer;
    int heads;
    int window_h, window_w;
    int pretrained_h, pretrained_w; /* 0: the window; never 0 in a node */
    int raw;                        /* 1: table = W2 relu(...), as in Swin-MoE */
};

enum { CPB_TABLE_W0, CPB_TABLE_B0, CPB_TABLE_W2 };
/* table: result of the forward op */
enum {
    CPB_TABLE_GRAD_W0,
    CPB_TABLE_GRAD_B0,
    CPB_TABLE_GRAD_W2,
    CPB_TABLE_GRAD_TABLE,
    CPB_TABLE_GRAD_DTABLE
};
enum { CPB_TABLE_GRAD_DW0, CPB_TABLE_GRAD_DB0, CPB_TABLE_GRAD_DW2, CPB_TABLE_GRAD_OUT };

#define cpb_table(b, ...)                                                                \
    cpb_table_((b), &(const struct cpb_table_attrs){.layer = __VA_ARGS__})
struct tensor *cpb_table_(struct builder *b, const struct cpb_table_attrs *a);

extern const struct op op_cpb_table, op_cpb_table_grad;

/* ---- for kernels ---- */

/* Returns the coordinate of an offset t in a window of this (pretrained) size. */
HOST_DEVICE static inline float cpb_coordinate(int t, int window)
{
    double u = 8 * (double)t / (window > 1 ? window - 1 : 1);
    double c = log2(fabs(u) + 1) / 3;

    return (float)(u < 0 ? -c : c);
}

/* Gets both coordinates of a row of the table. */
HOST_DEVICE static inline void cpb_coordinates(const struct cpb_table_attrs *a, int row,
                                               float c[2])
{
    int width = 2 * a->window_w - 1;

    c[0] = cpb_coordinate(row / width - (a->window_h - 1), a->pretrained_h);
    c[1] = cpb_coordinate(row % width - (a->window_w - 1), a->pretrained_w);
}

#ifdef __cplusplus
}
#endif

#endif
