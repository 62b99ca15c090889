#include "cuda/kernels.h"

const struct kernel *const cuda_kernels[] = {
    &cuda_conv2d,
    &cuda_conv2d_data_grad,
    &cuda_conv2d_weight_grad,
    &cuda_batchnorm_apply,
    &cuda_batchnorm_stats,
    &cuda_batchnorm_fold,
    &cuda_batchnorm_grad_apply,
    &cuda_batchnorm_grad_stats,
    &cuda_cast_kernel,
    &cuda_relu,
    NULL,
};
