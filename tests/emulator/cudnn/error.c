#include "tests/emulator/cudnn/error.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local char last[256];

cudnnStatus_t refuse(cudnnStatus_t status, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(last, sizeof(last), fmt, ap);
    va_end(ap);
    return status;
}

/* The text is returned once: without a new error, the next call returns "". */
void cudnnGetLastErrorString(char *message, size_t max_size)
{
    if (!message || !max_size)
        return;
    (void)snprintf(message, max_size, "%s", last);
    last[0] = 0;
}

const char *cudnnGetErrorString(cudnnStatus_t status)
{
    static const struct {
        cudnnStatus_t status;
        const char *name;
    } names[] = {
#define NAME(s) {.status = s, .name = #s}
        NAME(CUDNN_STATUS_SUCCESS),
        NAME(CUDNN_STATUS_NOT_INITIALIZED),
        NAME(CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH),
        NAME(CUDNN_STATUS_BAD_PARAM),
        NAME(CUDNN_STATUS_BAD_PARAM_NULL_POINTER),
        NAME(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER),
        NAME(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED),
        NAME(CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND),
        NAME(CUDNN_STATUS_BAD_PARAM_SIZE_INSUFFICIENT),
        NAME(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH),
        NAME(CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES),
        NAME(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE),
        NAME(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE),
        NAME(CUDNN_STATUS_NOT_SUPPORTED),
        NAME(CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH),
        NAME(CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING),
        NAME(CUDNN_STATUS_INTERNAL_ERROR),
        NAME(CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED),
        NAME(CUDNN_STATUS_EXECUTION_FAILED),
#undef NAME
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].status == status)
            return names[i].name;
    return "CUDNN_UNKNOWN_STATUS";
}
