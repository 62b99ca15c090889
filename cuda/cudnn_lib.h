/*
 * The library itself, only for cuda/cudnn*.c: entry points, the handle or the
 * description, and descriptors. A pool owns the descriptors created for one purpose and
 * records the first call that failed; after a failure all its calls do nothing.
 */
#ifndef CUDA_CUDNN_LIB_H
#define CUDA_CUDNN_LIB_H

#include <cudnn.h>
#include <stdbool.h>

#include "base/strmap.h"
#include "cuda/cudnn.h"
#include "cuda/library.h"

#define CUDNN_CALLS(X)                                                                   \
    X(Create)                                                                            \
    X(Destroy)                                                                           \
    X(SetStream)                                                                         \
    X(GetVersion)                                                                        \
    X(GetErrorString)                                                                    \
    X(GetLastErrorString)                                                                \
    X(BackendCreateDescriptor)                                                           \
    X(BackendDestroyDescriptor)                                                          \
    X(BackendSetAttribute)                                                               \
    X(BackendGetAttribute)                                                               \
    X(BackendFinalize)                                                                   \
    X(BackendExecute)

struct cudnn {
    struct device *dev;
    const struct cuda_library *library;
    size_t version;                  /* 91900 */
    cudnnHandle_t handle;            /* NULL for a described device */
    cudnnBackendDescriptor_t device; /* the description; NULL before 9.8 */
    char *device_json;               /* the device's text in cache keys */
    struct strmap plan;              /* by key: struct cudnn_plan */
#define X(name) __typeof__(cudnn##name) *name;
    CUDNN_CALLS(X)
#undef X
};

/* True if plans are only used to estimate a run: none of them is run. */
static inline bool cudnn_hurries(const struct cudnn *c)
{
    return c->dev->times && !c->dev->options.benchmark;
}

/* Dies with the call, the status, and cuDNN's last message. */
__attribute__((noreturn)) void cudnn_die(struct cudnn *c, cudnnStatus_t status,
                                         const char *call);

struct cudnn_pool {
    struct cudnn *c;
    cudnnBackendDescriptor_t *desc;
    int n, cap;
    cudnnStatus_t status; /* of the first call that failed */
    char message[480];    /* the failed call and its reason */
};

void cudnn_pool_release(struct cudnn_pool *p);
cudnnBackendDescriptor_t cudnn_new(struct cudnn_pool *p, cudnnBackendDescriptorType_t t);
void cudnn_set(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
               cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
               int64_t n, const void *values);
void cudnn_set_desc(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
                    cudnnBackendAttributeName_t name, cudnnBackendDescriptor_t value);
void cudnn_set_int(struct cudnn_pool *p, cudnnBackendDescriptor_t d,
                   cudnnBackendAttributeName_t name, int64_t value);
bool cudnn_finalize(struct cudnn_pool *p, cudnnBackendDescriptor_t d, const char *what);

/* Returns a text attribute (CUDNN_TYPE_CHAR), to be freed; NULL if cuDNN has none. */
char *cudnn_get_text(struct cudnn *c, cudnnBackendDescriptor_t d,
                     cudnnBackendAttributeName_t name);

#endif
