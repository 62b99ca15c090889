/*
 * Batch norm in parts, for backends that fuse each part with its neighbors: the sums with
 * the convolution that makes x, the apply with an add, a relu, or the next convolution,
 * the gradient's sums with the convolution that makes dy.
 *
 *   stats      x -> sum, squares                    sums of x and x^2 per channel
 *   finalize   sum, squares, weight, bias -> mean, var, rstd, scale, shift
 *   apply      x, scale, shift -> y                 y = x scale + shift
 *   sync       two tensors -> their means over the processes that share statistics,
 *             which have the same number of images: sum and squares, which finalize
 *             divides by the count of one process; x_scale and offset, which are
 *             linear in the sums over dy; and the moments of ops/gram.h
 *   fold       weight, bias, mean, var -> scale, shift          (fixed statistics)
 *
 *   grad_stats x, weight, mean, rstd, dy -> dweight, dbias, dy_scale, x_scale, offset
 *   grad_apply x, dy, dy_scale, x_scale, offset -> dx
 *                                       dx = dy dy_scale + x x_scale + offset
 *
 * They are cuDNN's operations (GEN_STATS, BN_FINALIZE_STATISTICS, BN_BWD_WEIGHTS), so a
 * region of these nodes is a piece of its graph; the formulas are in
 * ops/batchnorm_formula.h. Vectors are fp32 [C]. A kernel that fuses stats and finalize
 * need not compute the sum of squares, which is inaccurate where the mean is large
 * compared with the deviation.
 */
#ifndef OPS_BATCHNORM_PARTS_H
#define OPS_BATCHNORM_PARTS_H

#include "graph/collective.h"
#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct batchnorm_part_attrs {
    const char *layer;
    float eps;
    int64_t count; /* elements per channel */
};

struct batchnorm_sync_attrs {
    const char *layer;
    const struct collective *group;
};

enum { BATCHNORM_STATS_X };
enum { BATCHNORM_STATS_SUM, BATCHNORM_STATS_SQUARES };

enum {
    BATCHNORM_FINALIZE_SUM,
    BATCHNORM_FINALIZE_SQUARES,
    BATCHNORM_FINALIZE_WEIGHT,
    BATCHNORM_FINALIZE_BIAS
};
enum {
    BATCHNORM_FINALIZE_MEAN,
    BATCHNORM_FINALIZE_VAR,
    BATCHNORM_FINALIZE_RSTD,
    BATCHNORM_FINALIZE_SCALE,
    BATCHNORM_FINALIZE_SHIFT
};

enum { BATCHNORM_APPLY_X, BATCHNORM_APPLY_SCALE, BATCHNORM_APPLY_SHIFT };

enum {
    BATCHNORM_FOLD_WEIGHT,
    BATCHNORM_FOLD_BIAS,
    BATCHNORM_FOLD_MEAN,
    BATCHNORM_FOLD_VAR
};
enum { BATCHNORM_FOLD_SCALE, BATCHNORM_FOLD_SHIFT };

enum {
    BATCHNORM_GRAD_STATS_X,
    BATCHNORM_GRAD_STATS_WEIGHT,
    BATCHNORM_GRAD_STATS_MEAN,
    BATCHNORM_GRAD_STATS_RSTD,
    BATCHNORM_GRAD_STATS_DY
};
enum {
    BATCHNORM_GRAD_STATS_DWEIGHT,
    BATCHNORM_GRAD_STATS_DBIAS,
    BATCHNORM_GRAD_STATS_DY_SCALE,
    BATCHNORM_GRAD_STATS_X_SCALE,
    BATCHNORM_GRAD_STATS_OFFSET
};

enum {
    BATCHNORM_GRAD_APPLY_X,
    BATCHNORM_GRAD_APPLY_DY,
    BATCHNORM_GRAD_APPLY_DY_SCALE,
    BATCHNORM_GRAD_APPLY_X_SCALE,
    BATCHNORM_GRAD_APPLY_OFFSET
};

extern const struct op op_batchnorm_stats, op_batchnorm_finalize, op_batchnorm_apply,
    op_batchnorm_fold, op_batchnorm_grad_stats, op_batchnorm_grad_apply,
    op_batchnorm_sync;

/*
 * Splits each op_batchnorm, op_batchnorm_inference, and op_batchnorm_grad of the graph
 * into parts. Results keep their tensors: names, types, places in flat memory. A second
 * call changes nothing. The gradients of fixed statistics stay.
 */
void batchnorm_lower(struct graph *g);

#ifdef __cplusplus
}
#endif

#endif
