/*
 * norm_fold: a 1x1 convolution W [K,C,1,1] without a bias and the batch norm with the
 * batch's statistics after it, as weights and a bias of one convolution. The statistics
 * of the convolution's result follow from those of its input h (ops/gram.h), so that
 * result never exists. With M positions, k an output channel:
 *
 *   cov = gram/M - sum sum^T/M^2      product_k = cov W_k
 *   mean_k = W_k sum/M                var_k = W_k product_k       (at least 0)
 *   a_k = weight_k / sqrt(var_k + eps)
 *   folded_k = a_k W_k                shift_k = bias_k - a_k mean_k
 *
 *   batchnorm(conv(h, W)) = conv(h, folded) + shift
 *
 * Gradients, by the chain rule, with P the gradient of folded and q that of shift:
 *
 *   dweight_k = (P_k W_k - q_k mean_k) / sqrt(var_k + eps)        dbias = q
 *   b_k = -a_k dweight_k / (sqrt(var_k + eps) M)      c_k = -a_k q_k / M - b_k mean_k
 *   dW_k = a_k P_k + b_k M product_k - (a_k q_k / M) sum
 *   dgram = sum over k of (b_k / 2) W_k W_k^T         dsum = sum over k of c_k W_k
 *
 * Precision. The covariance is the difference of two fp32 numbers, computed in double:
 * its error is the rounding of gram, about 6e-8 of gram/M, so the relative error of a
 * variance grows with the squared ratio of the input's mean to its deviation, as for any
 * variance from sums of squares. tests/ops/test_norm_fold.c bounds it.
 *
 * The statistics have the places and the meaning of op_batchnorm's (ops/batchnorm.h). With
 * a group of processes gram and sum are means over the group (op_batchnorm_sync).
 */
#ifndef OPS_NORM_FOLD_H
#define OPS_NORM_FOLD_H

#include "graph/graph.h"
#include "ops/batchnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

struct norm_fold_attrs {
    struct batchnorm_attrs norm; /* begins with the layer */
    int64_t count;               /* M, of one process */
};

enum { NORM_FOLD_W, NORM_FOLD_WEIGHT, NORM_FOLD_BIAS, NORM_FOLD_GRAM, NORM_FOLD_SUM };
/* folded: like W; product: fp32 [K,C]; the others: fp32 [K] */
enum {
    NORM_FOLD_FOLDED,
    NORM_FOLD_SHIFT,
    NORM_FOLD_MEAN,
    NORM_FOLD_VAR,
    NORM_FOLD_PRODUCT
};

enum {
    NORM_FOLD_GRAD_W,
    NORM_FOLD_GRAD_WEIGHT,
    NORM_FOLD_GRAD_SUM,
    NORM_FOLD_GRAD_MEAN,
    NORM_FOLD_GRAD_VAR,
    NORM_FOLD_GRAD_PRODUCT,
    NORM_FOLD_GRAD_DFOLDED,
    NORM_FOLD_GRAD_DSHIFT
};
/* in a kernel each may be NULL */
enum {
    NORM_FOLD_GRAD_DW,
    NORM_FOLD_GRAD_DWEIGHT,
    NORM_FOLD_GRAD_DBIAS,
    NORM_FOLD_GRAD_DGRAM,
    NORM_FOLD_GRAD_DSUM
};

extern const struct op op_norm_fold, op_norm_fold_grad;

/* The formulas on arrays in double, for the reference and its tests. `in` has the inputs
 * of the op in order, `out` its outputs. */
struct norm_fold_size {
    int64_t out, in; /* K, C */
    double count, eps;
};
void norm_fold_forward(const struct norm_fold_size *s, const double *const *in,
                       double *const *out);
void norm_fold_backward(const struct norm_fold_size *s, const double *const *in,
                        double *const *out);

/*
 * True if folding pays for a convolution of `in` to `out` channels at `rows` positions
 * with data of this type; the graph edit asks it for each layer.
 */
struct norm_fold_layer {
    int64_t rows, in, out;
    enum dtype type;
};
typedef bool norm_fold_pays_fn(void *arg, const struct norm_fold_layer *l);

/*
 * Replaces each 1x1 convolution (stride 1, one group, no bias) and the op_batchnorm after
 * it, if an add [through a drop path] and a relu follow, by gram, norm_fold, and a
 * convolution with a bias. Call before autodiff; `type` is that of the convolutions.
 * Returns the number of layers that were folded.
 */
int norm_fold_lower(struct graph *g, enum dtype type, norm_fold_pays_fn *pays, void *arg);

#ifdef __cplusplus
}
#endif

#endif
