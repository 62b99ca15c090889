#include "cuda/kernels.h"

const struct kernel *const cuda_kernels[] = {
    &cuda_relu,
    NULL,
};
