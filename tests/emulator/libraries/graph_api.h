/*
 * Shared by tests of the emulated libraries: cuDNN's backend API, opened from a given
 * file, and shortcuts to create descriptors. It only uses the API, so the same calls run
 * on the emulation and on NVIDIA's library.
 *
 *   struct api a;
 *   if (api_open(&a, "libcudnn.so.9")) ...
 *   void *x = api_nhwc(&a, 1, CUDNN_DATA_HALF, 8, 64, 56, 56);
 *   ...
 *   api_reset(&a);   destroys every descriptor created since the last reset
 *   api_close(&a);
 *
 * Calls continue after an error; a.status is the first status that was not success, and
 * a.error the library's message for it.
 */
#ifndef EMULATOR_LIBRARIES_GRAPH_API_H
#define EMULATOR_LIBRARIES_GRAPH_API_H

#include <cudnn.h>
#include <stdbool.h>
#include <stdint.h>

struct api {
    void *lib;
    cudnnStatus_t (*create)(cudnnBackendDescriptorType_t, cudnnBackendDescriptor_t *);
    cudnnStatus_t (*destroy)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*finalize)(cudnnBackendDescriptor_t);
    cudnnStatus_t (*set)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t, const void *);
    cudnnStatus_t (*get)(cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                         cudnnBackendAttributeType_t, int64_t, int64_t *, void *);
    cudnnStatus_t (*execute)(cudnnHandle_t, cudnnBackendDescriptor_t,
                             cudnnBackendDescriptor_t);
    cudnnStatus_t (*open)(cudnnHandle_t *);
    cudnnStatus_t (*close)(cudnnHandle_t);
    size_t (*version)(void);
    void (*last_error)(char *, size_t);
    void *made[1024];
    int nmade;
    void *device; /* a DEVICEPROP descriptor that outlives api_reset() */
    cudnnStatus_t status;
    char error[256];
};

/* Returns NULL, or why opening failed. */
const char *api_open(struct api *a, const char *path);
void api_close(struct api *a);
void api_reset(struct api *a);

/* Reads a device description (JSON) and keeps it in a->device. */
void api_describe(struct api *a, const char *json);

void *api_new(struct api *a, cudnnBackendDescriptorType_t type);
void api_set(struct api *a, void *d, cudnnBackendAttributeName_t name,
             cudnnBackendAttributeType_t type, int64_t count, const void *values);
void api_set_int(struct api *a, void *d, cudnnBackendAttributeName_t name, int64_t v);
void api_set_float(struct api *a, void *d, cudnnBackendAttributeName_t name, float v);
void api_set_desc(struct api *a, void *d, cudnnBackendAttributeName_t name, void *v);
void api_set_enum(struct api *a, void *d, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int v);
void api_set_true(struct api *a, void *d, cudnnBackendAttributeName_t name);
void *api_done(struct api *a, void *d); /* finalizes */

enum api_kind { API_REAL, API_VIRTUAL, API_BY_VALUE };

void *api_tensor(struct api *a, int64_t uid, cudnnDataType_t type, enum api_kind kind,
                 int rank, const int64_t *dims, const int64_t *strides);
void *api_nhwc(struct api *a, int64_t uid, cudnnDataType_t type, int64_t n, int64_t c,
               int64_t h, int64_t w);
void *api_virtual(struct api *a, int64_t uid, cudnnDataType_t type, int64_t n, int64_t c,
                  int64_t h, int64_t w);
void *api_channels(struct api *a, int64_t uid, cudnnDataType_t type, int64_t c);
void *api_scalar(struct api *a, int64_t uid, cudnnDataType_t type);

struct api_conv {
    int64_t pre[2], post[2], stride[2], dilation[2];
};

void *api_convolution(struct api *a, const struct api_conv *c);
void *api_forward(struct api *a, const struct api_conv *c, void *x, void *w, void *y);
void *api_backward_data(struct api *a, const struct api_conv *c, void *dy, void *w,
                        void *dx);
void *api_backward_filter(struct api *a, const struct api_conv *c, void *x, void *dy,
                          void *dw, float beta);

/* b may be NULL; for the backward modes x is the forward input, b is dy, y is dx. */
void *api_pointwise(struct api *a, cudnnPointwiseMode_t mode, void *x, void *b, void *y);
void *api_reduce(struct api *a, cudnnReduceTensorOp_t how, void *x, void *y);

struct api_pool {
    cudnnResampleMode_t mode;
    cudnnPaddingMode_t padding;
    int64_t window[2], stride[2], pre[2], post[2];
};

void *api_pool_forward(struct api *a, const struct api_pool *p, void *x, void *y,
                       void *index);
void *api_pool_backward(struct api *a, const struct api_pool *p, void *dy, void *dx,
                        void *index);

void *api_graph(struct api *a, int nop, void *const *ops);

/* Configurations of a heuristic for a->device (if NULL, for the present device). */
int api_configs(struct api *a, void *graph, cudnnBackendHeurMode_t mode, int max,
                void **configs);
void *api_plan(struct api *a, void *config, cudnnStatus_t *status);

/* Returns the plan of the engine with that number; sets a->status. */
void *api_engine_plan(struct api *a, void *graph, int64_t index);
int64_t api_get_int(struct api *a, void *d, cudnnBackendAttributeName_t name);

/* pointers[i]: address of tensor uids[i]. */
void *api_pack(struct api *a, int n, const int64_t *uids, void *const *pointers,
               void *workspace);

#endif
