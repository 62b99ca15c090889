/* The library's entry points except for execute and the error texts. */
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/cudnn/descriptor.h"
#include "tests/emulator/cudnn/error.h"
#include "tests/emulator/cudnn/handle.h"
#include "tests/emulator/cudnn/plan.h"
#include "tests/emulator/cudnn/schema.h"
#include "tests/emulator/host_node.h"

#define OK CUDNN_STATUS_SUCCESS

enum { HANDLE = 0x646e6168, HANDLE_MEMORY = 64 << 20 };

/* From the emulated runtime, if there is one. */
__attribute__((weak)) __typeof__(emulator_take_memory) emulator_take_memory;

struct cudnnContext {
    unsigned magic;
    cudaStream_t stream;
};

bool handle_alive(cudnnHandle_t h)
{
    return h && h->magic == HANDLE;
}

cudaStream_t handle_stream(cudnnHandle_t h)
{
    return h->stream;
}

size_t cudnnGetVersion(void)
{
    return (size_t)library_version();
}

cudnnStatus_t cudnnCreate(cudnnHandle_t *handle)
{
    if (!handle)
        return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "cudnnCreate: NULL");
    *handle = calloc(1, sizeof(**handle));
    if (!*handle)
        abort();
    (*handle)->magic = HANDLE;
    if (emulator_take_memory)
        emulator_take_memory(HANDLE_MEMORY);
    return OK;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle)
{
    if (!handle_alive(handle))
        return refuse(CUDNN_STATUS_NOT_INITIALIZED, "cudnnDestroy: no handle");
    handle->magic = 0;
    free(handle);
    return OK;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream)
{
    if (!handle_alive(handle))
        return refuse(CUDNN_STATUS_NOT_INITIALIZED, "cudnnSetStream: no handle");
    handle->stream = stream;
    return OK;
}

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t *descriptor)
{
    if (!descriptor)
        return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "create: NULL");
    if (!schema_known(type))
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no descriptors of type %d", (int)type);
    *descriptor = descriptor_new(type);
    return OK;
}

static cudnnStatus_t check(const struct descriptor *d, const char *what)
{
    if (!d)
        return refuse(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "%s: NULL", what);
    if (!descriptor_alive(d))
        return BAD("%s: %p is not a living descriptor", what, (const void *)d);
    return OK;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor)
{
    cudnnStatus_t bad = check(descriptor, "destroy");

    if (!bad)
        descriptor_drop(descriptor);
    return bad;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor)
{
    cudnnStatus_t bad = check(descriptor, "finalize");

    return bad ? bad : descriptor_finalize(descriptor);
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void *values)
{
    cudnnStatus_t bad = check(descriptor, "set");

    return bad ? bad : descriptor_set(descriptor, name, type, count, values);
}

/* Fills descriptors created by the caller. */
static cudnnStatus_t give_descriptors(const struct attribute *a, int64_t n, void *values)
{
    struct descriptor **dst = values, *const *src = a->data;

    for (int64_t i = 0; i < n; i++) {
        if (!descriptor_alive(dst[i]) || dst[i]->type != src[i]->type)
            return BAD("attribute %d: descriptor %lld is not one of type %d",
                       (int)a->name, (long long)i, (int)src[i]->type);
        descriptor_assign(dst[i], src[i]);
    }
    return OK;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t asked,
                                       int64_t *count, void *values)
{
    struct descriptor *d = descriptor;
    cudnnStatus_t bad = check(d, "get");
    const struct schema *s = bad ? NULL : schema_find(d->type, name);
    const struct attribute *a;
    int64_t ignored, n;
    bool handled;

    if (bad)
        return bad;
    if (!s)
        return BAD("a descriptor of type %d has no attribute %d", (int)d->type,
                   (int)name);
    if (!d->finalized)
        return refuse(CUDNN_STATUS_NOT_INITIALIZED, "get before finalize");
    if (type != s->type && type != s->other)
        return refuse(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE,
                      "attribute %d has type %d, not %d", (int)name, (int)s->type,
                      (int)type);
    count = count ? count : &ignored;
    bad = plan_get(d, name, asked, count, values, &handled);
    if (handled)
        return bad;
    a = descriptor_get(d, name);
    if (!a || a->type != type)
        return refuse(CUDNN_STATUS_NOT_SUPPORTED, "attribute %d was not set so",
                      (int)name);
    *count = a->count;
    n = asked < a->count ? asked : a->count;
    if (n <= 0 || !values)
        return OK;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return give_descriptors(a, n, values);
    memcpy(values, a->data, schema_size(type) * (size_t)n);
    return OK;
}
