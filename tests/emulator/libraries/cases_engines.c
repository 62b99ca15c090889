/* Graphs with and without engines. */
#include "tests/emulator/libraries/cudnn_cases.h"

#define F32 CUDNN_DATA_FLOAT
#define F16 CUDNN_DATA_HALF

static const struct api_conv same = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};

static const struct api_pool max_pool = {
    CUDNN_RESAMPLE_MAXPOOL, CUDNN_NEG_INF_PAD, {2, 2}, {2, 2}, {0, 0}, {0, 0},
};
/* ---- graphs with and without engines ---- */

static void *big(struct api *a, int64_t uid, cudnnDataType_t t)
{
    return api_nhwc(a, uid, t, 32, 64, 28, 28);
}

static void *inside(struct api *a, int64_t uid)
{
    return api_virtual(a, uid, F32, 32, 64, 28, 28);
}

static void *taps(struct api *a, int64_t uid, cudnnDataType_t t, int64_t groups)
{
    return api_nhwc(a, uid, t, 64, 64 / groups, 3, 3);
}

static int one(void **ops, void *op)
{
    ops[0] = op;
    return 1;
}
static int make_forward(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_forward(a, &same, big(a, 1, t), taps(a, 2, t, 1), big(a, 3, t)));
}
static int make_groups(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_forward(a, &same, big(a, 1, t), taps(a, 2, t, 2), big(a, 3, t)));
}
static int make_depthwise(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_forward(a, &same, big(a, 1, t), taps(a, 2, t, 64), big(a, 3, t)));
}
static int make_data(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops,
               api_backward_data(a, &same, big(a, 1, t), taps(a, 2, t, 1), big(a, 3, t)));
}
static int make_filter(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_backward_filter(a, &same, big(a, 1, t), big(a, 2, t),
                                        taps(a, 3, t, 1), 0));
}
static int make_filter_adding(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_backward_filter(a, &same, big(a, 1, t), big(a, 2, t),
                                        taps(a, 3, t, 1), 1));
}
static int make_wide_filter(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_backward_filter(a, &same, big(a, 1, t), big(a, 2, t),
                                        taps(a, 3, t == F32 ? F16 : F32, 1), 0));
}
static int make_cast_filter(struct api *a, cudnnDataType_t t, void **ops)
{
    void *w = api_virtual(a, 6, t, 64, 64, 3, 3);

    ops[0] = api_pointwise(a, CUDNN_POINTWISE_IDENTITY, taps(a, 7, F32, 1), NULL, w);
    ops[1] = api_forward(a, &same, big(a, 1, t), w, big(a, 3, t));
    return 2;
}
static int make_bias(struct api *a, cudnnDataType_t t, void **ops)
{
    void *y = inside(a, 3);

    ops[0] = api_forward(a, &same, big(a, 1, t), taps(a, 2, t, 1), y);
    ops[1] =
        api_pointwise(a, CUDNN_POINTWISE_ADD, y, api_channels(a, 4, t, 64), big(a, 5, t));
    return 2;
}
static int make_bias_relu(struct api *a, cudnnDataType_t t, void **ops)
{
    void *y = inside(a, 3), *z = inside(a, 6);

    ops[0] = api_forward(a, &same, big(a, 1, t), taps(a, 2, t, 1), y);
    ops[1] = api_pointwise(a, CUDNN_POINTWISE_ADD, y, api_channels(a, 4, t, 64), z);
    ops[2] = api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, z, NULL, big(a, 5, t));
    return 3;
}
static int make_relu(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, big(a, 1, t), NULL,
                                  big(a, 2, t)));
}
static int make_reduce(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_reduce(a, CUDNN_REDUCE_TENSOR_ADD, big(a, 1, t),
                               api_channels(a, 2, F32, 64)));
}
static int make_pool(struct api *a, cudnnDataType_t t, void **ops)
{
    return one(ops, api_pool_forward(a, &max_pool, big(a, 1, t),
                                     api_nhwc(a, 2, t, 32, 64, 14, 14),
                                     api_nhwc(a, 3, CUDNN_DATA_INT8, 32, 64, 14, 14)));
}
static int make_two(struct api *a, cudnnDataType_t t, void **ops)
{
    void *y = inside(a, 3);

    ops[0] = api_forward(a, &same, big(a, 1, t), taps(a, 2, t, 1), y);
    ops[1] = api_forward(a, &same, y, taps(a, 4, t, 1), big(a, 5, t));
    return 2;
}

const struct cudnn_graph_case cudnn_graph_cases[] = {
    {"forward", true, make_forward},
    {"forward in groups", true, make_groups},
    {"forward by channel", true, make_depthwise},
    {"backward data", true, make_data},
    {"backward filter", true, make_filter},
    {"backward filter, adding", true, make_filter_adding},
    {"backward filter of another type", false, make_wide_filter},
    {"forward of a filter cast within", false, make_cast_filter},
    {"forward, bias", true, make_bias},
    {"forward, bias, relu", true, make_bias_relu},
    {"relu", true, make_relu},
    {"reduction", true, make_reduce},
    {"max pooling with indices", true, make_pool},
    {"two convolutions", false, make_two},
};

const int cudnn_ngraph_case = sizeof(cudnn_graph_cases) / sizeof(cudnn_graph_cases[0]);
