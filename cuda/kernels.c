#include "cuda/kernels.h"

const struct kernel *const cuda_kernels[] = {
    &cuda_head,
    &cuda_conv2d,
    &cuda_conv2d_data_grad,
    &cuda_conv2d_weight_grad,
    &cuda_linear,
    &cuda_linear_data_grad,
    &cuda_linear_weight_grad,
    &cuda_batchnorm_apply,
    &cuda_batchnorm_stats,
    &cuda_batchnorm_fold,
    &cuda_batchnorm_grad_apply,
    &cuda_batchnorm_grad_stats,
    &cuda_maxpool2d,
    &cuda_avgpool2d,
    &cuda_global_avgpool,
    &cuda_pad_shortcut,
    &cuda_normalize_kernel,
    &cuda_cast_kernel,
    &cuda_pointwise,
    &cuda_add,
    &cuda_dropout,
    &cuda_concat,
    &cuda_bias_grad,
    &cuda_mix,

    /* loss */
    &cuda_cross_entropy,
    &cuda_bce,
    &cuda_metrics,
    &cuda_cross_entropy2d,
    &cuda_confusion,

    /* update */
    &cuda_grad_stats,
    &cuda_optimizer,
    &cuda_running_stats,
    &cuda_control,
    NULL,
};
