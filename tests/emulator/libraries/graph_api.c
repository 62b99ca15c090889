#include "tests/emulator/libraries/graph_api.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void symbol(struct api *a, const char *name, void *function, const char **missing)
{
    void *p = dlsym(a->lib, name);

    if (!p)
        *missing = name;
    memcpy(function, &p, sizeof(p));
}

const char *api_open(struct api *a, const char *path)
{
    const char *missing = NULL;

    memset(a, 0, sizeof(*a));
    a->lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!a->lib)
        return dlerror();
    symbol(a, "cudnnBackendCreateDescriptor", &a->create, &missing);
    symbol(a, "cudnnBackendDestroyDescriptor", &a->destroy, &missing);
    symbol(a, "cudnnBackendFinalize", &a->finalize, &missing);
    symbol(a, "cudnnBackendSetAttribute", &a->set, &missing);
    symbol(a, "cudnnBackendGetAttribute", &a->get, &missing);
    symbol(a, "cudnnBackendExecute", &a->execute, &missing);
    symbol(a, "cudnnCreate", &a->open, &missing);
    symbol(a, "cudnnDestroy", &a->close, &missing);
    symbol(a, "cudnnGetVersion", &a->version, &missing);
    symbol(a, "cudnnGetLastErrorString", &a->last_error, &missing);
    return missing;
}

void api_reset(struct api *a)
{
    while (a->nmade > 0)
        a->destroy(a->made[--a->nmade]);
    a->status = CUDNN_STATUS_SUCCESS;
    a->error[0] = 0;
}

void api_close(struct api *a)
{
    api_reset(a);
    if (a->device)
        a->destroy(a->device);
    a->device = NULL;
}

static cudnnStatus_t note(struct api *a, cudnnStatus_t s)
{
    if (s != CUDNN_STATUS_SUCCESS && a->status == CUDNN_STATUS_SUCCESS) {
        a->status = s;
        a->last_error(a->error, sizeof(a->error));
    }
    return s;
}

void *api_new(struct api *a, cudnnBackendDescriptorType_t type)
{
    void *d = NULL;

    if (note(a, a->create(type, &d)) || a->nmade == 1024)
        return NULL;
    a->made[a->nmade++] = d;
    return d;
}

void api_set(struct api *a, void *d, cudnnBackendAttributeName_t name,
             cudnnBackendAttributeType_t type, int64_t count, const void *values)
{
    note(a, a->set(d, name, type, count, values));
}

void api_set_int(struct api *a, void *d, cudnnBackendAttributeName_t name, int64_t v)
{
    api_set(a, d, name, CUDNN_TYPE_INT64, 1, &v);
}

void api_set_float(struct api *a, void *d, cudnnBackendAttributeName_t name, float v)
{
    api_set(a, d, name, CUDNN_TYPE_FLOAT, 1, &v);
}

void api_set_desc(struct api *a, void *d, cudnnBackendAttributeName_t name, void *v)
{
    api_set(a, d, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &v);
}

void api_set_enum(struct api *a, void *d, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, int v)
{
    api_set(a, d, name, type, 1, &v);
}

void api_set_true(struct api *a, void *d, cudnnBackendAttributeName_t name)
{
    bool yes = true;

    api_set(a, d, name, CUDNN_TYPE_BOOLEAN, 1, &yes);
}

void *api_done(struct api *a, void *d)
{
    note(a, a->finalize(d));
    return d;
}

void api_describe(struct api *a, const char *json)
{
    void *d = NULL;

    note(a, a->create(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &d));
    api_set(a, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            (int64_t)strlen(json), json);
    a->device = api_done(a, d);
}

/* ---- tensors ---- */

void *api_tensor(struct api *a, int64_t uid, cudnnDataType_t type, enum api_kind kind,
                 int rank, const int64_t *dims, const int64_t *strides)
{
    void *d = api_new(a, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    int64_t align = kind != API_BY_VALUE ? 16 : type == CUDNN_DATA_INT64 ? 8 : 4;

    api_set_enum(a, d, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, (int)type);
    api_set(a, d, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, rank, dims);
    api_set(a, d, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, rank, strides);
    api_set_int(a, d, CUDNN_ATTR_TENSOR_UNIQUE_ID, uid);
    api_set_int(a, d, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, align);
    if (kind == API_VIRTUAL)
        api_set_true(a, d, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
    if (kind == API_BY_VALUE)
        api_set_true(a, d, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
    return api_done(a, d);
}

static void *nhwc(struct api *a, int64_t uid, cudnnDataType_t type, enum api_kind kind,
                  const int64_t *d)
{
    int64_t strides[4] = {d[1] * d[2] * d[3], 1, d[3] * d[1], d[1]};

    return api_tensor(a, uid, type, kind, 4, d, strides);
}

void *api_nhwc(struct api *a, int64_t uid, cudnnDataType_t type, int64_t n, int64_t c,
               int64_t h, int64_t w)
{
    return nhwc(a, uid, type, API_REAL, (const int64_t[4]){n, c, h, w});
}

void *api_virtual(struct api *a, int64_t uid, cudnnDataType_t type, int64_t n, int64_t c,
                  int64_t h, int64_t w)
{
    return nhwc(a, uid, type, API_VIRTUAL, (const int64_t[4]){n, c, h, w});
}

void *api_channels(struct api *a, int64_t uid, cudnnDataType_t type, int64_t c)
{
    return nhwc(a, uid, type, API_REAL, (const int64_t[4]){1, c, 1, 1});
}

void *api_scalar(struct api *a, int64_t uid, cudnnDataType_t type)
{
    return nhwc(a, uid, type, API_BY_VALUE, (const int64_t[4]){1, 1, 1, 1});
}

/* ---- operations ---- */

void *api_convolution(struct api *a, const struct api_conv *c)
{
    void *d = api_new(a, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);

    api_set_int(a, d, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 2);
    api_set_enum(a, d, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                 CUDNN_DATA_FLOAT);
    api_set_enum(a, d, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
                 CUDNN_CROSS_CORRELATION);
    api_set(a, d, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, 2, c->pre);
    api_set(a, d, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, 2, c->post);
    api_set(a, d, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, 2, c->stride);
    api_set(a, d, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, 2, c->dilation);
    return api_done(a, d);
}

void *api_forward(struct api *a, const struct api_conv *c, void *x, void *w, void *y)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);

    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
                 api_convolution(a, c));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, w);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, y);
    api_set_float(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, 1);
    api_set_float(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, 0);
    return api_done(a, d);
}

void *api_backward_data(struct api *a, const struct api_conv *c, void *dy, void *w,
                        void *dx)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);

    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
                 api_convolution(a, c));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, dy);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, w);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, dx);
    api_set_float(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, 1);
    api_set_float(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, 0);
    return api_done(a, d);
}

void *api_backward_filter(struct api *a, const struct api_conv *c, void *x, void *dy,
                          void *dw, float beta)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR);

    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
                 api_convolution(a, c));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, x);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, dy);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, dw);
    api_set_float(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, 1);
    api_set_float(a, d, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, beta);
    return api_done(a, d);
}

void *api_pointwise(struct api *a, cudnnPointwiseMode_t mode, void *x, void *b, void *y)
{
    void *p = api_new(a, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    bool back = mode >= CUDNN_POINTWISE_RELU_BWD && mode < CUDNN_POINTWISE_CMP_EQ;

    api_set_enum(a, p, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, (int)mode);
    api_set_enum(a, p, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                 CUDNN_DATA_FLOAT);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, api_done(a, p));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        api_set_desc(a, d,
                     back ? CUDNN_ATTR_OPERATION_POINTWISE_DYDESC
                          : CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                     b);
    api_set_desc(a, d,
                 back ? CUDNN_ATTR_OPERATION_POINTWISE_DXDESC
                      : CUDNN_ATTR_OPERATION_POINTWISE_YDESC,
                 y);
    return api_done(a, d);
}

void *api_reduce(struct api *a, cudnnReduceTensorOp_t how, void *x, void *y)
{
    void *r = api_new(a, CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);

    api_set_enum(a, r, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE,
                 (int)how);
    api_set_enum(a, r, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                 CUDNN_DATA_FLOAT);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_REDUCTION_DESC, api_done(a, r));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y);
    return api_done(a, d);
}

static void set_fractions(struct api *a, void *d, cudnnBackendAttributeName_t name,
                          const int64_t *v)
{
    cudnnFraction_t f[2] = {{v[0], 1}, {v[1], 1}};

    api_set(a, d, name, CUDNN_TYPE_FRACTION, 2, f);
}

static void *resample(struct api *a, const struct api_pool *p)
{
    void *d = api_new(a, CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);

    api_set_enum(a, d, CUDNN_ATTR_RESAMPLE_MODE, CUDNN_TYPE_RESAMPLE_MODE, (int)p->mode);
    api_set_enum(a, d, CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
                 CUDNN_DATA_FLOAT);
    api_set_int(a, d, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 2);
    set_fractions(a, d, CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, p->window);
    set_fractions(a, d, CUDNN_ATTR_RESAMPLE_STRIDES, p->stride);
    set_fractions(a, d, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, p->pre);
    set_fractions(a, d, CUDNN_ATTR_RESAMPLE_POST_PADDINGS, p->post);
    api_set_enum(a, d, CUDNN_ATTR_RESAMPLE_PADDING_MODE, CUDNN_TYPE_PADDING_MODE,
                 (int)p->padding);
    return api_done(a, d);
}

void *api_pool_forward(struct api *a, const struct api_pool *p, void *x, void *y,
                       void *index)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);

    api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, resample(a, p));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, x);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, y);
    if (index)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC, index);
    return api_done(a, d);
}

void *api_pool_backward(struct api *a, const struct api_pool *p, void *dy, void *dx,
                        void *index)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);

    api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, resample(a, p));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, dy);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, dx);
    if (index)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC, index);
    return api_done(a, d);
}

/* ---- graphs, plans ---- */

void *api_graph(struct api *a, int nop, void *const *ops)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);

    api_set(a, d, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, nop, ops);
    return api_done(a, d);
}

int api_configs(struct api *a, void *graph, cudnnBackendHeurMode_t mode, int max,
                void **configs)
{
    void *h = api_new(a, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
    int64_t count = 0;

    api_set_desc(a, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    api_set_enum(a, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, (int)mode);
    if (a->device)
        api_set_desc(a, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, a->device);
    api_done(a, h);
    for (int i = 0; i < max; i++)
        configs[i] = api_new(a, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    note(a, a->get(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, max,
                   &count, configs));
    return (int)count;
}

void *api_plan(struct api *a, void *config, cudnnStatus_t *status)
{
    void *d = api_new(a, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);

    api_set_desc(a, d, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    if (a->device)
        api_set_desc(a, d, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, a->device);
    *status = a->finalize(d);
    return d;
}

void *api_engine_plan(struct api *a, void *graph, int64_t index)
{
    void *e = api_new(a, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    void *c = api_new(a, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), *plan;
    cudnnStatus_t s;

    api_set_desc(a, e, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    api_set_int(a, e, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
    api_set_desc(a, c, CUDNN_ATTR_ENGINECFG_ENGINE, api_done(a, e));
    plan = api_plan(a, api_done(a, c), &s);
    note(a, s);
    return plan;
}

int64_t api_get_int(struct api *a, void *d, cudnnBackendAttributeName_t name)
{
    int64_t v = -1, count;

    note(a, a->get(d, name, CUDNN_TYPE_INT64, 1, &count, &v));
    return v;
}

void *api_pack(struct api *a, int n, const int64_t *uids, void *const *pointers,
               void *workspace)
{
    void *d = api_new(a, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);

    api_set(a, d, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, uids);
    api_set(a, d, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n,
            pointers);
    api_set(a, d, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
    return api_done(a, d);
}
