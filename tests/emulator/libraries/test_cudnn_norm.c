/*
 * Pooling and batch norm of the emulated cuDNN against PyTorch's numbers, batch norm in
 * parts against the whole, and reductions, GEMMs, and views against plain loops.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/emulator/libraries/cudnn_numbers.h"
#include "tests/emulator/libraries/run_graph.h"
#include "tests/test.h"

#define F32    CUDNN_DATA_FLOAT
#define LEN(x) ((int)(sizeof(x) / sizeof((x)[0])))

enum { ALONE = 8, EXACT = 28 }; /* engines of the emulation */

static struct api *const a = &run_api;

/* ---- pooling ---- */

static void check_pool(const struct api_pool *p, const float *want, const float *want_dx)
{
    _Alignas(16) float x[40], y[12], dy[12], dx[40];
    _Alignas(16) int8_t index[12];
    bool max = p->mode == CUDNN_RESAMPLE_MAXPOOL;
    void *op, *i = max ? api_nhwc(a, 3, CUDNN_DATA_INT8, 1, 2, 3, 2) : NULL;

    run_fill(x, 40, 9);
    run_fill(dy, 12, 11);
    op = api_pool_forward(a, p, api_nhwc(a, 1, F32, 1, 2, 5, 4),
                          api_nhwc(a, 2, F32, 1, 2, 3, 2), i);
    run_graph(1, &op, ALONE, 2 + max, (int64_t[]){1, 2, 3}, (void *[]){x, y, index});
    run_compare("pool", y, want, 12, 1e-6f);
    i = max ? api_nhwc(a, 3, CUDNN_DATA_INT8, 1, 2, 3, 2) : NULL;
    op = api_pool_backward(a, p, api_nhwc(a, 1, F32, 1, 2, 3, 2),
                           api_nhwc(a, 2, F32, 1, 2, 5, 4), i);
    run_graph(1, &op, ALONE, 2 + max, (int64_t[]){1, 2, 3}, (void *[]){dy, dx, index});
    run_compare("pool dx", dx, want_dx, 40, 1e-6f);
}

static void test_pools(void **state)
{
    struct api_pool p = {
        CUDNN_RESAMPLE_MAXPOOL, CUDNN_NEG_INF_PAD, {3, 3}, {2, 2}, {1, 1}, {1, 1}};

    (void)state;
    check_pool(&p, pool_max, pool_max_dx);
    p.padding = CUDNN_ZERO_PAD;
    p.mode = CUDNN_RESAMPLE_AVGPOOL_INCLUDE_PADDING;
    check_pool(&p, pool_whole, pool_whole_dx);
    p.mode = CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING;
    check_pool(&p, pool_inside, pool_inside_dx);
}

/* ---- batch norm ---- */

static void *norm_image(int64_t uid)
{
    return api_nhwc(a, uid, F32, 2, 2, 2, 3);
}

static void *vector(int64_t uid)
{
    return api_channels(a, uid, F32, 2);
}

struct norm {
    _Alignas(16) float x[24], dy[24], y[24], dx[24];
    _Alignas(16) float scale[4], bias[4], mean[4], invstd[4];
    _Alignas(16) float old_mean[4], old_var[4], new_mean[4], new_var[4];
    _Alignas(16) float dscale[4], dbias[4], a[4], b[4], c[4], sum[4], sqsum[4];
    float epsilon, factor;
    int64_t count;
};

static struct norm norm(void)
{
    struct norm n = {.scale = {1.5f, -0.5f},
                     .bias = {0.25f, 1},
                     .old_mean = {0.5f, -1},
                     .old_var = {2, 3},
                     .epsilon = 1e-3f,
                     .factor = 0.1f,
                     .count = 12};

    run_fill(n.x, 24, 3);
    run_fill(n.dy, 24, 5);
    return n;
}

struct part {
    int name;
    void *tensor, *memory;
};

/* Runs an operation whose attributes are all tensors, given their memory. */
static void run_parts(void *d, const struct part *parts, int n)
{
    int64_t uids[20];
    void *pointers[20];

    for (int i = 0; i < n; i++) {
        uids[i] = i + 1;
        pointers[i] = parts[i].memory;
        api_set_desc(a, d, (cudnnBackendAttributeName_t)parts[i].name, parts[i].tensor);
    }
    d = api_done(a, d);
    run_graph(1, &d, ALONE, n, uids, pointers);
}

static void norm_forward(struct norm *n)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
    const struct part parts[] = {
        {CUDNN_ATTR_OPERATION_NORM_FWD_XDESC, norm_image(1), n->x},
        {CUDNN_ATTR_OPERATION_NORM_FWD_YDESC, norm_image(2), n->y},
        {CUDNN_ATTR_OPERATION_NORM_FWD_MEAN_DESC, vector(3), n->mean},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INV_VARIANCE_DESC, vector(4), n->invstd},
        {CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC, vector(5), n->scale},
        {CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC, vector(6), n->bias},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_MEAN_DESC, vector(7), n->old_mean},
        {CUDNN_ATTR_OPERATION_NORM_FWD_INPUT_RUNNING_VAR_DESC, vector(8), n->old_var},
        {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_MEAN_DESC, vector(9), n->new_mean},
        {CUDNN_ATTR_OPERATION_NORM_FWD_OUTPUT_RUNNING_VAR_DESC, vector(10), n->new_var},
        {CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC, api_scalar(a, 11, F32), &n->epsilon},
        {CUDNN_ATTR_OPERATION_NORM_FWD_EXP_AVG_FACTOR_DESC, api_scalar(a, 12, F32),
         &n->factor},
    };

    api_set_enum(a, d, CUDNN_ATTR_OPERATION_NORM_FWD_MODE, CUDNN_TYPE_NORM_MODE,
                 CUDNN_BATCH_NORM);
    api_set_enum(a, d, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE, CUDNN_TYPE_NORM_FWD_PHASE,
                 CUDNN_NORM_FWD_TRAINING);
    run_parts(d, parts, LEN(parts));
}

static void norm_backward(struct norm *n)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_NORM_BACKWARD_DESCRIPTOR);
    const struct part parts[] = {
        {CUDNN_ATTR_OPERATION_NORM_BWD_XDESC, norm_image(1), n->x},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DYDESC, norm_image(2), n->dy},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DXDESC, norm_image(3), n->dx},
        {CUDNN_ATTR_OPERATION_NORM_BWD_MEAN_DESC, vector(4), n->mean},
        {CUDNN_ATTR_OPERATION_NORM_BWD_INV_VARIANCE_DESC, vector(5), n->invstd},
        {CUDNN_ATTR_OPERATION_NORM_BWD_SCALE_DESC, vector(6), n->scale},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DSCALE_DESC, vector(7), n->dscale},
        {CUDNN_ATTR_OPERATION_NORM_BWD_DBIAS_DESC, vector(8), n->dbias},
    };

    api_set_enum(a, d, CUDNN_ATTR_OPERATION_NORM_BWD_MODE, CUDNN_TYPE_NORM_MODE,
                 CUDNN_BATCH_NORM);
    run_parts(d, parts, LEN(parts));
}

static void test_norm(void **state)
{
    struct norm n = norm();

    (void)state;
    norm_forward(&n);
    run_compare("y", n.y, norm_y, LEN(norm_y), 2e-6f);
    run_compare("running mean", n.new_mean, norm_running_mean, 2, 1e-6f);
    run_compare("running variance", n.new_var, norm_running_var, 2, 1e-6f);
    norm_backward(&n);
    run_compare("dx", n.dx, norm_dx, LEN(norm_dx), 2e-6f);
    run_compare("dscale", n.dscale, norm_dscale, 2, 4e-6f);
    run_compare("dbias", n.dbias, norm_dbias, 2, 1e-6f);
}

/* Sums of a copy of x: statistics need an operation before them. */
static void statistics(struct norm *n)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_GEN_STATS_DESCRIPTOR),
         *x = norm_image(1);
    void *copy = api_pointwise(a, CUDNN_POINTWISE_IDENTITY, norm_image(4), NULL, x),
         *ops[2];

    api_set_enum(a, d, CUDNN_ATTR_OPERATION_GENSTATS_MODE, CUDNN_TYPE_GENSTATS_MODE,
                 CUDNN_GENSTATS_SUM_SQSUM);
    api_set_enum(a, d, CUDNN_ATTR_OPERATION_GENSTATS_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                 F32);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_GENSTATS_XDESC, x);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_GENSTATS_SUMDESC, vector(2));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_GENSTATS_SQSUMDESC, vector(3));
    ops[0] = api_done(a, d);
    ops[1] = copy;
    run_graph(2, ops, ALONE, 4, (int64_t[]){1, 2, 3, 4},
              (void *[]){n->y, n->sum, n->sqsum, n->x});
}

static void finalize(struct norm *n)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_BN_FINALIZE_STATISTICS_DESCRIPTOR);
    const struct part parts[] = {
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SUM_DESC, vector(1), n->sum},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC, vector(2), n->sqsum},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_SCALE_DESC, vector(3), n->scale},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_BIAS_DESC, vector(4), n->bias},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC, vector(5), n->old_mean},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC, vector(6), n->old_var},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC, vector(7),
         n->new_mean},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC, vector(8),
         n->new_var},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_MEAN_DESC, vector(9), n->mean},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC, vector(10), n->invstd},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_SCALE_DESC, vector(11), n->a},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_EQ_BIAS_DESC, vector(12), n->b},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_EPSILON_DESC, api_scalar(a, 13, F32),
         &n->epsilon},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC, api_scalar(a, 14, F32),
         &n->factor},
        {CUDNN_ATTR_OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC,
         api_scalar(a, 15, CUDNN_DATA_INT64), &n->count},
    };

    api_set_enum(a, d, CUDNN_ATTR_OPERATION_BN_FINALIZE_STATS_MODE,
                 CUDNN_TYPE_BN_FINALIZE_STATS_MODE,
                 CUDNN_BN_FINALIZE_STATISTICS_TRAINING);
    api_set_enum(a, d, CUDNN_ATTR_OPERATION_BN_FINALIZE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
                 F32);
    run_parts(d, parts, LEN(parts));
}

static void weights(struct norm *n)
{
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_BN_BWD_WEIGHTS_DESCRIPTOR);
    const struct part parts[] = {
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_X_DESC, norm_image(1), n->x},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DY_DESC, norm_image(2), n->dy},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MEAN_DESC, vector(3), n->mean},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC, vector(4), n->invstd},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC, vector(5), n->scale},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC, vector(6), n->dscale},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC, vector(7), n->dbias},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC, vector(8), n->a},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC, vector(9), n->b},
        {CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_EQ_BIAS, vector(10), n->c},
    };

    api_set_enum(a, d, CUDNN_ATTR_OPERATION_BN_BWD_WEIGHTS_MATH_PREC,
                 CUDNN_TYPE_DATA_TYPE, F32);
    run_parts(d, parts, LEN(parts));
}

/* y = EQ_SCALE x + EQ_BIAS and dx = A dy + B x + C are PyTorch's */
static void test_norm_parts(void **state)
{
    struct norm n = norm();

    (void)state;
    statistics(&n);
    run_compare("copy", n.y, n.x, 24, 0);
    finalize(&n);
    run_compare("running mean", n.new_mean, norm_running_mean, 2, 1e-6f);
    run_compare("running variance", n.new_var, norm_running_var, 2, 1e-6f);
    for (int i = 0; i < 24; i++)
        n.y[i] = n.a[i % 2] * n.x[i] + n.b[i % 2];
    run_compare("y", n.y, norm_y, LEN(norm_y), 2e-6f);
    weights(&n);
    run_compare("dscale", n.dscale, norm_dscale, 2, 4e-6f);
    run_compare("dbias", n.dbias, norm_dbias, 2, 1e-6f);
    for (int i = 0; i < 24; i++)
        n.dx[i] = n.a[i % 2] * n.dy[i] + n.b[i % 2] * n.x[i] + n.c[i % 2];
    run_compare("dx", n.dx, norm_dx, LEN(norm_dx), 4e-6f);
}

/* ---- reductions, products, views ---- */

static void test_reductions(void **state)
{
    static const cudnnReduceTensorOp_t how[] = {
        CUDNN_REDUCE_TENSOR_ADD, CUDNN_REDUCE_TENSOR_MAX, CUDNN_REDUCE_TENSOR_MIN,
        CUDNN_REDUCE_TENSOR_AMAX};
    _Alignas(16) float x[24], y[4];

    (void)state;
    run_fill(x, 24, 3);
    for (int k = 0; k < 4; k++) {
        float first = k == 1 ? -9 : k == 2 ? 9 : 0, want[2] = {first, first};
        void *op = api_reduce(a, how[k], norm_image(1), vector(2));

        for (int i = 0; i < 24; i++)
            want[i % 2] = k == 0   ? want[i % 2] + x[i]
                          : k == 1 ? fmaxf(want[i % 2], x[i])
                          : k == 2 ? fminf(want[i % 2], x[i])
                                   : fmaxf(want[i % 2], fabsf(x[i]));
        run_graph(1, &op, ALONE, 2, (int64_t[]){1, 2}, (void *[]){x, y});
        run_compare("reduction", y, want, 2, 0);
    }
}

static void *matrix(int64_t uid, int64_t batch, int64_t rows, int64_t cols,
                    bool transposed)
{
    int64_t dims[3] = {batch, rows, cols};
    int64_t strides[3] = {rows * cols, transposed ? 1 : cols, transposed ? rows : 1};

    return api_tensor(a, uid, F32, API_REAL, 3, dims, strides);
}

/* [2,3,4] times a transposed [1,4,5] */
static void test_matmul(void **state)
{
    _Alignas(16) float x[24], y[20], z[30], want[30] = {0};
    void *m = api_new(a, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    void *op = api_new(a, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);

    (void)state;
    run_fill(x, 24, 1);
    run_fill(y, 20, 2);
    for (int i = 0; i < 30 * 4; i++) {
        int k = i % 4, c = i / 4 % 5, r = i / 20 % 3, b = i / 60;

        want[b * 15 + r * 5 + c] += x[b * 12 + r * 4 + k] * y[c * 4 + k];
    }
    api_set_enum(a, m, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, F32);
    api_set_desc(a, op, CUDNN_ATTR_OPERATION_MATMUL_DESC, api_done(a, m));
    api_set_desc(a, op, CUDNN_ATTR_OPERATION_MATMUL_ADESC, matrix(1, 2, 3, 4, false));
    api_set_desc(a, op, CUDNN_ATTR_OPERATION_MATMUL_BDESC, matrix(2, 1, 4, 5, true));
    api_set_desc(a, op, CUDNN_ATTR_OPERATION_MATMUL_CDESC, matrix(3, 2, 3, 5, false));
    op = api_done(a, op);
    run_graph(1, &op, EXACT, 3, (int64_t[]){1, 2, 3}, (void *[]){x, y, z});
    run_compare("matmul", z, want, 30, 0);
}

/* The same memory viewed as rows of pixels. */
static void test_reshape(void **state)
{
    _Alignas(16) float x[24], y[24] = {0};
    void *op = api_new(a, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    (void)state;
    run_fill(x, 24, 1);
    api_set_desc(a, op, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, norm_image(1));
    api_set_desc(a, op, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, matrix(2, 1, 12, 2, false));
    op = api_done(a, op);
    run_graph(1, &op, ALONE, 2, (int64_t[]){1, 2}, (void *[]){x, y});
    run_compare("reshape", y, x, 24, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pools),      cmocka_unit_test(test_norm),
        cmocka_unit_test(test_norm_parts), cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_matmul),     cmocka_unit_test(test_reshape),
    };

    return cmocka_run_group_tests(tests, run_setup, run_teardown);
}
