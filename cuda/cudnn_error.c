/* Ends the run when cuDNN fails. */
#include "cuda/cudnn_lib.h"

static const char *hint_of(cudnnStatus_t status)
{
    switch (status) {
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
        return cuda_hint_memory;
    case CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH:
        return "a plan of another GPU: empty the folder CUDNN.CACHE";
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
        return "update the NVIDIA driver";
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART:
        return "this cuDNN is for another CUDA: TRAINC_CUDNN names a file";
    default:
        return status / 1000 == CUDNN_STATUS_EXECUTION_FAILED / 1000 ? cuda_hint_late
                                                                     : NULL;
    }
}

void cudnn_die(struct cudnn *c, cudnnStatus_t status, const char *call)
{
    char text[480] = "";

    c->GetLastErrorString(text, sizeof(text));
    cuda_fail(c->dev, call, c->GetErrorString(status), text, hint_of(status));
}
