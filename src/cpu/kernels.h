/* The kernels of the CPU backend; the order of claims is in kernels.c. */
#ifndef CPU_KERNELS_H
#define CPU_KERNELS_H

#include "graph/kernel.h"

/* Both end with NULL. */
extern const struct kernel *const cpu_kernels[];   /* best first */
extern const struct kernel *const cpu_own_convs[]; /* instead of oneDNN's */

/* Returns the name of a kernel that a choice can replace by another (cpu/kernel_table.h),
 * or NULL. */
const char *cpu_kernel_candidate(const struct kernel *k);

extern const struct kernel cpu_add, cpu_augment, cpu_patch_mask, cpu_batchnorm,
    cpu_batchnorm_grad, cpu_batchnorm_inference, cpu_bias_grad, cpu_cast, cpu_concat,
    cpu_conv2d, cpu_conv_transpose2d, cpu_cross_entropy, cpu_bce, cpu_multilabel_loss,
    cpu_focal, cpu_dice, cpu_ohem, cpu_distill, cpu_label_down, cpu_loss_sum,
    cpu_cross_entropy2d, cpu_data_grad, cpu_data_grad_amx, cpu_data_grad_direct,
    cpu_data_grad_narrow, cpu_down, cpu_down_weight_grad, cpu_dropout, cpu_forward_amx,
    cpu_forward_direct, cpu_forward_narrow, cpu_global_avgpool, cpu_gram, cpu_gram_grad,
    cpu_norm_fold, cpu_norm_fold_grad, cpu_linear, cpu_mix, cpu_normalize, cpu_optimizer,
    cpu_pad_shortcut, cpu_pool2d, cpu_position, cpu_groupnorm, cpu_maxpool2d, cpu_pad_end,
    cpu_resample, cpu_resize, cpu_tokens, cpu_weight_grad, cpu_weight_grad_amx,
    cpu_weight_grad_direct, cpu_weight_grad_narrow, cpu_forward_winograd,
    cpu_data_grad_winograd, cpu_weight_grad_winograd, cpu_forward_gemm,
    cpu_data_grad_gemm, cpu_weight_grad_gemm, cpu_cpb_table, cpu_qkv_bias, cpu_qlayer,
    cpu_quantize, cpu_window_attention, cpu_window_mix;
extern const struct kernel cpu_layer_scale, cpu_layernorm, cpu_layernorm_grad;
extern const struct kernel cpu_bucket, cpu_expr, cpu_grads_join, cpu_reduce_sum;
extern const struct kernel cpu_corn, cpu_forward_depthwise, cpu_data_grad_depthwise,
    cpu_weight_grad_depthwise, cpu_matmul, cpu_regression_loss, cpu_softmax,
    cpu_strided_copy, cpu_unscale;
extern const struct kernel cpu_constant, cpu_gather;
extern const struct kernel cpu_add_noise, cpu_all_to_all, cpu_moe_pick, cpu_moe_route,
    cpu_moe_rows;

/* True if our own loops can store this type. */
static inline bool cpu_dtype(const struct tensor *t)
{
    return t->dtype == DTYPE_F32 || t->dtype == DTYPE_BF16;
}

#endif
