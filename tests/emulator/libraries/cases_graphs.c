/* The other operations; graphs, heuristics, plans and packs. */
#include <string.h>

#include "tests/emulator/libraries/cudnn_cases.h"

#define F32 CUDNN_DATA_FLOAT
#define F16 CUDNN_DATA_HALF

static const struct api_conv same = {{1, 1}, {1, 1}, {1, 1}, {1, 1}};
static const int64_t dims[4] = {2, 8, 4, 4};

static void *image(struct api *a, int64_t uid)
{
    return api_nhwc(a, uid, F16, 2, 8, 4, 4);
}

static void *filter(struct api *a, int64_t uid)
{
    return api_nhwc(a, uid, F16, 8, 8, 3, 3);
}

static void *half_image(struct api *a, int64_t uid, cudnnDataType_t type)
{
    return api_nhwc(a, uid, type, 2, 8, 2, 2);
}

/* ---- the other operations ---- */

static void add_good(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_ADD, image(a, 1), image(a, 2), image(a, 3));
}
static void add_channels(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_ADD, image(a, 1), api_channels(a, 2, F32, 8),
                  image(a, 3));
}
static void add_channels_first(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_ADD, api_channels(a, 2, F32, 8), image(a, 1),
                  image(a, 3));
}
static void mul_scalar(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_MUL, image(a, 1), api_scalar(a, 2, F32),
                  image(a, 3));
}
static void add_one(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_ADD, image(a, 1), NULL, image(a, 3));
}
static void add_misfit(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_ADD, image(a, 1), api_channels(a, 2, F32, 4),
                  image(a, 3));
}
static void add_smaller(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_ADD, image(a, 1), image(a, 2),
                  api_channels(a, 3, F32, 8));
}
static void relu_two(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, image(a, 1), image(a, 2), image(a, 3));
}
static void relu_grad(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_RELU_BWD, image(a, 1), image(a, 2), image(a, 3));
}
static void relu_grad_one(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_RELU_BWD, image(a, 1), NULL, image(a, 3));
}
static void select_two(struct api *a)
{
    api_pointwise(a, CUDNN_POINTWISE_BINARY_SELECT, image(a, 1), image(a, 2),
                  image(a, 3));
}
static void reduce_good(struct api *a)
{
    api_reduce(a, CUDNN_REDUCE_TENSOR_ADD, image(a, 1), api_channels(a, 2, F32, 8));
}
static void reduce_misfit(struct api *a)
{
    api_reduce(a, CUDNN_REDUCE_TENSOR_ADD, image(a, 1), api_channels(a, 2, F32, 4));
}
static void reduce_average(struct api *a)
{
    api_reduce(a, CUDNN_REDUCE_TENSOR_AVG, image(a, 1), api_channels(a, 2, F32, 8));
}

static const struct api_pool max_pool = {
    CUDNN_RESAMPLE_MAXPOOL, CUDNN_NEG_INF_PAD, {2, 2}, {2, 2}, {0, 0}, {0, 0},
};
static const struct api_pool average_pool = {
    CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING,
    CUDNN_ZERO_PAD,
    {2, 2},
    {2, 2},
    {0, 0},
    {0, 0},
};

static void pool_good(struct api *a)
{
    api_pool_forward(a, &max_pool, image(a, 1), half_image(a, 2, F16),
                     half_image(a, 3, CUDNN_DATA_INT8));
}
static void pool_no_index(struct api *a)
{
    api_pool_forward(a, &max_pool, image(a, 1), half_image(a, 2, F16), NULL);
}
static void pool_float_index(struct api *a)
{
    api_pool_forward(a, &max_pool, image(a, 1), half_image(a, 2, F16),
                     half_image(a, 3, F32));
}
static void pool_size(struct api *a)
{
    api_pool_forward(a, &max_pool, image(a, 1), image(a, 2), NULL);
}
static void pool_grad(struct api *a)
{
    api_pool_backward(a, &max_pool, half_image(a, 2, F16), image(a, 1),
                      half_image(a, 3, CUDNN_DATA_INT8));
}
static void pool_grad_no_index(struct api *a)
{
    api_pool_backward(a, &max_pool, half_image(a, 2, F16), image(a, 1), NULL);
}
static void average_good(struct api *a)
{
    api_pool_forward(a, &average_pool, image(a, 1), half_image(a, 2, F16), NULL);
}
static void average_grad(struct api *a)
{
    api_pool_backward(a, &average_pool, half_image(a, 2, F16), image(a, 1), NULL);
}

/* ---- graphs ---- */

static void graph_good(struct api *a)
{
    void *op = api_forward(a, &same, image(a, 1), filter(a, 2), image(a, 3));

    api_graph(a, 1, &op);
}
static void graph_empty(struct api *a)
{
    (void)api_done(a, NEW(OPERATIONGRAPH));
}
static void graph_of_tensor(struct api *a)
{
    void *t = image(a, 1);

    api_graph(a, 1, &t);
}
static void graph_unfinalized(struct api *a)
{
    void *op = NEW(OPERATION_CONVOLUTION_FORWARD);

    api_graph(a, 1, &op);
}
static void graph_twice(struct api *a)
{
    void *op = api_forward(a, &same, image(a, 1), filter(a, 2), image(a, 3));

    api_graph(a, 2, (void *[]){op, op});
}

/* conv -> y, relu(x) -> 4; in the other order if `swapped` */
static void two_ops(struct api *a, void *y, void *x, bool swapped)
{
    void *ops[2];

    ops[swapped] = api_forward(a, &same, image(a, 1), filter(a, 2), y);
    ops[!swapped] = api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, x, NULL, image(a, 4));
    api_graph(a, 2, ops);
}
static void graph_ids_differ(struct api *a)
{
    two_ops(a, image(a, 3), api_nhwc(a, 3, F32, 2, 8, 4, 4), false);
}
static void graph_ids_agree(struct api *a)
{
    two_ops(a, image(a, 3), image(a, 3), false);
}
static void graph_turned(struct api *a)
{
    void *y = api_virtual(a, 3, F32, 2, 8, 4, 4);

    two_ops(a, y, y, true);
}
static void graph_two_parts(struct api *a)
{
    two_ops(a, image(a, 3), image(a, 5), false);
}
static void graph_two_writers(struct api *a)
{
    void *y = image(a, 3), *ops[2];

    ops[0] = api_forward(a, &same, image(a, 1), filter(a, 2), y);
    ops[1] = api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, image(a, 5), NULL, y);
    api_graph(a, 2, ops);
}
static void graph_cycle(struct api *a)
{
    void *t = image(a, 3), *u = image(a, 4), *ops[2];

    ops[0] = api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, t, NULL, u);
    ops[1] = api_pointwise(a, CUDNN_POINTWISE_RELU_FWD, u, NULL, t);
    api_graph(a, 2, ops);
}
static void graph_unwritten(struct api *a)
{
    void *op = api_forward(a, &same, api_virtual(a, 1, F16, 2, 8, 4, 4), filter(a, 2),
                           image(a, 3));

    api_graph(a, 1, &op);
}

/* ---- heuristics, plans, packs ---- */

static void heuristic_no_graph(struct api *a)
{
    void *h = NEW(ENGINEHEUR);

    api_set_enum(a, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE,
                 CUDNN_HEUR_MODE_A);
    (void)api_done(a, h);
}
static void plan_of_nothing(struct api *a)
{
    void *p = NEW(EXECUTION_PLAN);

    api_set_desc(a, p, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, a->device);
    (void)api_done(a, p);
}
static void plan_text(struct api *a, const char *text)
{
    void *p = NEW(EXECUTION_PLAN);

    api_set_desc(a, p, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, a->device);
    api_set(a, p, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            (int64_t)strlen(text), text);
    (void)api_done(a, p);
}
static void plan_garbage(struct api *a)
{
    plan_text(a, "hello");
}
static void plan_empty(struct api *a)
{
    plan_text(a, "{}");
}

/* The first plan that builds, reloaded from its text. */
static void plan_again(struct api *a)
{
    void *op = api_forward(a, &same, image(a, 1), filter(a, 2), image(a, 3));
    void *graph = api_graph(a, 1, &op), *config[8], *plan = NULL, *copy;
    int n = api_configs(a, graph, CUDNN_HEUR_MODE_A, 8, config);
    cudnnStatus_t s = CUDNN_STATUS_NOT_SUPPORTED;
    static char text[65536];
    int64_t length = 0;

    for (int i = 0; i < n && s; i++)
        plan = api_plan(a, config[i], &s);
    a->status = s;
    if (s)
        return;
    a->status = a->get(plan, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION,
                       CUDNN_TYPE_CHAR, (int64_t)sizeof(text), &length, text);
    copy = NEW(EXECUTION_PLAN);
    api_set_desc(a, copy, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, a->device);
    api_set(a, copy, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
            length, text);
    (void)api_done(a, copy);
    if (api_get_int(a, plan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE) !=
        api_get_int(a, copy, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE))
        a->status = CUDNN_STATUS_INTERNAL_ERROR;
}

/* Configurations that are already finalized are not filled. */
static void configs_again(struct api *a)
{
    void *op = api_forward(a, &same, image(a, 1), filter(a, 2), image(a, 3));
    void *graph = api_graph(a, 1, &op), *config[4], *h = NEW(ENGINEHEUR);
    cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
    int64_t n = -1;

    if (api_configs(a, graph, mode, 2, config) != 2)
        a->status = CUDNN_STATUS_INTERNAL_ERROR;
    api_set_desc(a, h, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph);
    api_set_enum(a, h, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, (int)mode);
    api_set_desc(a, h, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, a->device);
    (void)api_done(a, h);
    if (a->get(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, &n,
               NULL) ||
        n < 2)
        a->status = CUDNN_STATUS_INTERNAL_ERROR;
    if (a->get(h, CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR, 2, &n,
               config) ||
        n != 0)
        a->status = CUDNN_STATUS_INTERNAL_ERROR;
}
static void pack_good(struct api *a)
{
    api_pack(a, 2, dims, (void *[]){a, a}, NULL);
}
static void pack_counts(struct api *a)
{
    void *p = NEW(VARIANT_PACK);

    api_set(a, p, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 2, dims);
    api_set(a, p, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1,
            (void *[]){a});
    (void)api_done(a, p);
}
static void pack_no_ids(struct api *a)
{
    void *p = NEW(VARIANT_PACK);

    api_set(a, p, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 1,
            (void *[]){a});
    (void)api_done(a, p);
}
static void pack_twice(struct api *a)
{
    api_pack(a, 2, (const int64_t[]){1, 1}, (void *[]){a, a}, NULL);
}
static void device_garbage(struct api *a)
{
    void *d = NEW(DEVICEPROP);

    api_set(a, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 5, "hello");
    (void)api_done(a, d);
}
static void device_empty(struct api *a)
{
    void *d = NEW(DEVICEPROP);

    api_set(a, d, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, 2, "{}");
    (void)api_done(a, d);
}

const struct cudnn_case cudnn_cases_graphs[] = {
    YES(add_good),
    YES(add_channels),
    YES(add_channels_first),
    YES(mul_scalar),
    NO(add_one),
    STRICTER(add_misfit),
    STRICTER(add_smaller),
    STRICTER(relu_two),
    YES(relu_grad),
    NO(relu_grad_one),
    NO(select_two),
    YES(reduce_good),
    STRICTER(reduce_misfit),
    NO(reduce_average),
    YES(pool_good),
    YES(pool_no_index),
    STRICTER(pool_float_index),
    NO(pool_size),
    YES(pool_grad),
    NO(pool_grad_no_index),
    YES(average_good),
    YES(average_grad),
    YES(graph_good),
    NO(graph_empty),
    NO(graph_of_tensor),
    NO(graph_unfinalized),
    NO(graph_twice),
    NO(graph_ids_differ),
    YES(graph_ids_agree),
    YES(graph_turned),
    YES(graph_two_parts),
    NO(graph_two_writers),
    NO(graph_cycle),
    STRICTER(graph_unwritten),
    NO(heuristic_no_graph),
    NO(plan_of_nothing),
    NO(plan_garbage),
    NO(plan_empty),
    YES(plan_again),
    YES(configs_again),
    YES(pack_good),
    NO(pack_counts),
    NO(pack_no_ids),
    STRICTER(pack_twice),
    NO(device_garbage),
    NO(device_empty),
    {0},
};
