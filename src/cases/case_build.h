/*
 * The build functions of the rows in cases/rows_*.c. A row's attrs are those of the op
 * after which its function is named; layer, out, and groups are filled in.
 */
#ifndef CASES_CASE_BUILD_H
#define CASES_CASE_BUILD_H

#include "cases/cases.h"

case_build_fn case_normalize;
case_build_fn case_mix;
case_build_fn case_resize;
case_build_fn case_patch_mask;
case_build_fn case_flip, case_flip_labels;
case_build_fn case_color_jitter, case_erase;
case_build_fn case_conv2d, case_conv_transpose2d;
case_build_fn case_linear, case_linear_image, case_linear_bias;
case_build_fn case_batchnorm;
case_build_fn case_batchnorm_parts, case_batchnorm_stats, case_batchnorm_finalize,
    case_batchnorm_fold, case_batchnorm_sync;
case_build_fn case_batchnorm_grad_parts;
case_build_fn case_gram, case_gram_grad;
case_build_fn case_norm_fold, case_norm_fold_twice, case_norm_fold_vectors,
    case_norm_fold_grad;
case_build_fn case_relu, case_relu_bits;
case_build_fn case_sigmoid;
case_build_fn case_add;
case_build_fn case_sum;
case_build_fn case_cast;
case_build_fn case_scale_channels;
case_build_fn case_maxpool2d;
case_build_fn case_avgpool2d;
case_build_fn case_global_avgpool;
case_build_fn case_pad_shortcut;
case_build_fn case_groupnorm;
case_build_fn case_resample;
case_build_fn case_pad_end;
case_build_fn case_strided_copy;
case_build_fn case_gather, case_gather_grad, case_constant;
case_build_fn case_matmul;
case_build_fn case_matmul_heads;
case_build_fn case_softmax;
case_build_fn case_concat;
case_build_fn case_concat_tokens;
case_build_fn case_concat_twice;
case_build_fn case_scale_by;
case_build_fn case_patch_merge;
case_build_fn case_prepend_token;
case_build_fn case_slice_tokens;
case_build_fn case_slice;
case_build_fn case_select_token;
case_build_fn case_add_position;
case_build_fn case_moe, case_add_noise, case_all_to_all;
case_build_fn case_dropout;
case_build_fn case_dropout2d;
case_build_fn case_drop_path;
case_build_fn case_attention;
case_build_fn case_window_attention;
case_build_fn case_unbiased_attention;
case_build_fn case_unbiased_cosine_attention;
case_build_fn case_cosine_attention;
case_build_fn case_cpb_table;
case_build_fn case_qkv_bias;
case_build_fn case_window_mix;
case_build_fn case_cross_entropy;
case_build_fn case_cross_entropy_lam;
case_build_fn case_bce;
case_build_fn case_bce_lam;
case_build_fn case_multilabel;
case_build_fn case_multilabel_lam;
case_build_fn case_regression;
case_build_fn case_regression_lam;
case_build_fn case_unscale;
case_build_fn case_corn;
case_build_fn case_cross_entropy2d;
case_build_fn case_focal;
case_build_fn case_focal_lam;
case_build_fn case_dice;
case_build_fn case_ohem;
case_build_fn case_distill;
case_build_fn case_loss_sum;
case_build_fn case_loss_times;
case_build_fn case_label_down;
case_build_fn case_confusion;
case_build_fn case_head;
case_build_fn case_metrics;
case_build_fn case_loss_scale;
case_build_fn case_conv_bn_relu;
case_build_fn case_conv_bn_add_relu;
case_build_fn case_bn_add_relu;
case_build_fn case_bn_drop_add_relu;
case_build_fn case_bn_bn_add_relu;
case_build_fn case_bn_relu;
case_build_fn case_bn_relu_maxpool;
case_build_fn case_bn_relu_shared;
case_build_fn case_conv_bias_relu;
case_build_fn case_factorised;
case_build_fn case_relu_conv_relu;
case_build_fn case_stem;
case_build_fn case_down;
case_build_fn case_down_up;
case_build_fn case_residual;
case_build_fn case_se;
case_build_fn case_weights;
case_build_fn case_view;
case_build_fn case_view_output;
case_build_fn case_views;
case_build_fn case_layernorm;
case_build_fn case_gelu;
case_build_fn case_gelu_image;
case_build_fn case_layer_scale;
case_build_fn case_layer_scale_image;
case_build_fn case_dropout_tokens;
case_build_fn case_drop_path_tokens;
case_build_fn case_layernorm_image;
case_build_fn case_residual_norms;
case_build_fn case_residual_stream;
case_build_fn case_residual_view;
case_build_fn case_mlp;
case_build_fn case_residual_sums;
case_build_fn case_qconv2d;
case_build_fn case_qchain;
case_build_fn case_qlinear;

/* Appends an input with this filling; fp32 inputs want gradients. */
struct tensor *case_tensor(struct case_build *c, const char *name, enum dtype dtype,
                           enum layout layout, int ndim, const int64_t *dim,
                           enum case_fill fill);

struct tensor *case_image(struct case_build *c, const char *name, const int64_t *dim,
                          enum case_fill fill);

/* Plain, with the dims that are not 0. */
struct tensor *case_plain(struct case_build *c, const char *name, const int64_t *dim,
                          enum case_fill fill);

/* Labels of n images. */
struct tensor *case_labels(struct case_build *c, int64_t n, int classes,
                           enum case_fill fill);
/* Labels of the pixels of [N,K,H,W]; a label of -1 is 255. */
struct tensor *case_pixel_labels(struct case_build *c, const int64_t *dim,
                                 enum case_fill fill);

/* Marks t as a result to be compared. The backward pass starts at the first one. */
void case_output(struct case_build *c, struct tensor *t);

/* Appends the update phase, after graph_flatten and autodiff. */
void case_update_phase(struct builder *b, const struct case_update *u);

#endif
