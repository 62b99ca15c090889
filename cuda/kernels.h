/* The kernels of the CUDA backend; the order of claims is in kernels.c. */
#ifndef CUDA_KERNELS_H
#define CUDA_KERNELS_H

#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const struct kernel *const cuda_kernels[]; /* best first, ends with NULL */

extern const struct kernel cuda_conv2d, cuda_conv2d_data_grad, cuda_conv2d_weight_grad,
    cuda_depthwise, cuda_cast_kernel, cuda_pointwise, cuda_expr, cuda_reduce_sum;
extern const struct kernel cuda_linear, cuda_linear_data_grad, cuda_linear_weight_grad;
extern const struct kernel cuda_gram, cuda_gram_grad, cuda_norm_fold, cuda_norm_fold_grad;
extern const struct kernel cuda_batchnorm_stats, cuda_batchnorm_apply,
    cuda_batchnorm_fold, cuda_batchnorm_grad_stats, cuda_batchnorm_grad_apply;
extern const struct kernel cuda_maxpool2d, cuda_avgpool2d, cuda_global_avgpool,
    cuda_pad_shortcut, cuda_qlayer, cuda_qlayer_plain, cuda_quantize,
    cuda_position, cuda_tokens, cuda_augment, cuda_patch_mask, cuda_resize,
    cuda_normalize_kernel;
extern const struct kernel cuda_resample, cuda_pool2d, cuda_pad_end, cuda_groupnorm,
    cuda_depthwise_any, cuda_depthwise_strip_grad, cuda_depthwise_weight_grad;
extern const struct kernel cuda_constant, cuda_gather, cuda_matmul, cuda_softmax,
    cuda_strided_copy;
extern const struct kernel cuda_add_noise, cuda_moe_pick, cuda_moe_route, cuda_moe_rows;
extern const struct kernel cuda_layer_scale, cuda_layernorm, cuda_layernorm_grad;
extern const struct kernel cuda_add, cuda_bias_grad, cuda_concat, cuda_confusion,
    cuda_cross_entropy, cuda_bce, cuda_multilabel_loss, cuda_focal, cuda_dice, cuda_ohem,
    cuda_distill, cuda_label_down, cuda_loss_sum, cuda_cross_entropy2d, cuda_dropout,
    cuda_head, cuda_head_grad, cuda_metrics, cuda_mix, cuda_regression_loss, cuda_unscale,
    cuda_corn;
extern const struct kernel cuda_cpb_table, cuda_qkv_bias, cuda_window_mix,
    cuda_window_attention, cuda_window_attention_grad, cuda_attention_mma,
    cuda_attention_mma_grad, cuda_attention_cudnn, cuda_attention_cudnn_grad;
extern const struct kernel cuda_all_reduce, cuda_all_gather, cuda_all_to_all,
    cuda_batchnorm_sync, cuda_bucket_start, cuda_bucket_join, cuda_control,
    cuda_grad_stats, cuda_grads_join, cuda_optimizer, cuda_running_stats;

#ifdef __cplusplus
}
#endif

#endif
