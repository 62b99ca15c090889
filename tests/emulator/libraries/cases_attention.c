/*
 * Attention and its gradient, operation by operation: NVIDIA's library has engines for
 * the graphs that the emulation supports, and vice versa. q, k, and v are in one tensor
 * of all tokens.
 */
#include "tests/emulator/libraries/cudnn_cases.h"

#define F32 CUDNN_DATA_FLOAT
#define I32 CUDNN_DATA_INT32

enum { B = 2, H = 3, T = 197 };

/* A graph under construction. */
struct making {
    struct api *a;
    cudnnDataType_t type;
    int64_t features;
    void **ops;
    int n;
    int64_t uid;
};

static struct making begin(struct api *a, cudnnDataType_t type, void **ops)
{
    return (struct making){a, type, 64, ops, 0, 1};
}

static void *packed(struct making *m, cudnnDataType_t type, enum api_kind kind,
                    int64_t rows, int64_t columns)
{
    int64_t dims[] = {B, H, rows, columns};
    int64_t strides[] = {H * rows * columns, rows * columns, columns, 1};

    return api_tensor(m->a, m->uid++, type, kind, 4, dims, strides);
}

static void *scores(struct making *m, cudnnDataType_t type)
{
    return packed(m, type, API_VIRTUAL, T, T);
}

static void *transposed_scores(struct making *m)
{
    int64_t dims[] = {B, H, T, T}, strides[] = {H * T * T, T * T, 1, T};

    return api_tensor(m->a, m->uid++, m->type, API_VIRTUAL, 4, dims, strides);
}

static void *sums(struct making *m, enum api_kind kind)
{
    return packed(m, F32, kind, T, 1);
}

static void *rows(struct making *m, int parts, bool transposed, cudnnDataType_t type,
                  enum api_kind kind)
{
    int64_t d = m->features, token = parts * H * d;
    int64_t dims[] = {B, H, transposed ? d : T, transposed ? T : d};
    int64_t strides[] = {T * token, d, transposed ? 1 : token, transposed ? token : 1};

    return api_tensor(m->a, m->uid++, type, kind, 4, dims, strides);
}

static void *part(struct making *m, bool transposed)
{
    return rows(m, 3, transposed, m->type, API_REAL);
}

static void *whole_rows(struct making *m)
{
    return rows(m, 1, false, m->type, API_REAL);
}

static void *lengths(struct making *m)
{
    int64_t dims[] = {B, 1, 1, 1}, ones[] = {1, 1, 1, 1};

    return api_tensor(m->a, m->uid++, I32, API_REAL, 4, dims, ones);
}

static void *number(struct making *m)
{
    return api_scalar(m->a, m->uid++, F32);
}

static void *dot(struct making *m, void *x, void *y, void *z, void *rows_of,
                 void *columns_of, void *products_of)
{
    struct api *a = m->a;
    void *how = api_new(a, CUDNN_BACKEND_MATMUL_DESCRIPTOR);
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);

    api_set_enum(a, how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, F32);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_DESC, api_done(a, how));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_ADESC, x);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_BDESC, y);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_CDESC, z);
    if (rows_of)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_GEMM_M_OVERRIDE_DESC, rows_of);
    if (columns_of)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_GEMM_N_OVERRIDE_DESC, columns_of);
    if (products_of)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_MATMUL_GEMM_K_OVERRIDE_DESC, products_of);
    m->ops[m->n++] = api_done(a, d);
    return z;
}

static void *point(struct making *m, cudnnPointwiseMode_t mode, void *x, void *b, void *y)
{
    m->ops[m->n++] = api_pointwise(m->a, mode, x, b, y);
    return y;
}

static void *reduce(struct making *m, cudnnReduceTensorOp_t how, void *x, void *y)
{
    m->ops[m->n++] = api_reduce(m->a, how, x, y);
    return y;
}

static void *view(struct making *m, void *x, void *y)
{
    void *d = api_new(m->a, CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR);

    api_set_desc(m->a, d, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x);
    api_set_desc(m->a, d, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y);
    m->ops[m->n++] = api_done(m->a, d);
    return y;
}

/* A pointwise operation with its own compute type, axis, or selection. */
static void *special(struct making *m, cudnnPointwiseMode_t mode, cudnnDataType_t type,
                     int axis, void *x, void *b, void *choice, void *y)
{
    struct api *a = m->a;
    void *how = api_new(a, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    void *d = api_new(a, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);

    api_set_enum(a, how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, mode);
    api_set_enum(a, how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, type);
    if (axis >= 0)
        api_set_int(a, how, CUDNN_ATTR_POINTWISE_AXIS, axis);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, api_done(a, how));
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x);
    if (b)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_BDESC, b);
    if (choice)
        api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_TDESC, choice);
    api_set_desc(a, d, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
    m->ops[m->n++] = api_done(a, d);
    return y;
}

static void *mask(struct making *m, void *s, void *queries, void *keys)
{
    const cudnnDataType_t truth = CUDNN_DATA_BOOLEAN;
    void *length[] = {queries, keys}, *inside[2], *both;

    for (int i = 0; i < 2; i++) {
        void *index = special(m, CUDNN_POINTWISE_GEN_INDEX, I32, 2 + i, s, NULL, NULL,
                              scores(m, I32));

        inside[i] = special(m, CUDNN_POINTWISE_CMP_LT, truth, -1, index, length[i], NULL,
                            scores(m, truth));
    }
    both = special(m, CUDNN_POINTWISE_LOGICAL_AND, truth, -1, inside[0], inside[1], NULL,
                   scores(m, truth));
    return special(m, CUDNN_POINTWISE_BINARY_SELECT, F32, -1, s, number(m), both,
                   scores(m, F32));
}

static int forward(struct making *m)
{
    void *s = dot(m, part(m, false), part(m, true), scores(m, F32), NULL, NULL, NULL);
    void *max, *sum, *log, *p;

    s = point(m, CUDNN_POINTWISE_MUL, s, number(m), scores(m, F32));
    max = reduce(m, CUDNN_REDUCE_TENSOR_MAX, s, sums(m, API_VIRTUAL));
    s = point(m, CUDNN_POINTWISE_SUB, s, max, scores(m, F32));
    s = point(m, CUDNN_POINTWISE_EXP, s, NULL, scores(m, F32));
    sum = reduce(m, CUDNN_REDUCE_TENSOR_ADD, s, sums(m, API_VIRTUAL));
    log = point(m, CUDNN_POINTWISE_LOG, sum, NULL, sums(m, API_VIRTUAL));
    (void)point(m, CUDNN_POINTWISE_ADD, max, log, sums(m, API_REAL));
    p = point(m, CUDNN_POINTWISE_DIV, s, sum, scores(m, m->type));
    (void)dot(m, p, part(m, false), whole_rows(m), NULL, NULL, NULL);
    return m->n;
}

static int make_forward(struct api *a, cudnnDataType_t t, void **ops)
{
    struct making m = begin(a, t, ops);

    return forward(&m);
}

static int make_narrow(struct api *a, cudnnDataType_t t, void **ops)
{
    struct making m = begin(a, t, ops);

    m.features = 20;
    return forward(&m);
}

static int gradient(struct making *m, bool in_order, bool masked)
{
    void *queries = masked ? lengths(m) : NULL, *keys = masked ? lengths(m) : NULL;
    void *scale = number(m), *q = part(m, false), *k = part(m, true), *dy = whole_rows(m);
    void *d = packed(m, F32, API_VIRTUAL, T, m->features), *s, *p, *ds;

    d = point(m, CUDNN_POINTWISE_MUL, dy, whole_rows(m), d);
    d = reduce(m, CUDNN_REDUCE_TENSOR_ADD, d, sums(m, API_VIRTUAL));
    d = point(m, CUDNN_POINTWISE_MUL, d, number(m), sums(m, API_REAL));
    s = dot(m, q, k, scores(m, F32), queries, keys, NULL);
    s = point(m, CUDNN_POINTWISE_MUL, s, scale, scores(m, F32));
    if (masked)
        s = mask(m, s, queries, keys);
    s = point(m, CUDNN_POINTWISE_SUB, s, sums(m, API_REAL), scores(m, F32));
    p = point(m, CUDNN_POINTWISE_EXP, s, NULL, scores(m, F32));
    (void)dot(m, view(m, p, transposed_scores(m)), dy, part(m, false), keys, NULL, queries);
    ds = dot(m, dy, part(m, true), scores(m, F32), queries, keys, NULL);
    ds = point(m, CUDNN_POINTWISE_SUB, ds, d, scores(m, F32));
    ds = point(m, CUDNN_POINTWISE_MUL, ds, p, scores(m, F32));
    ds = point(m, CUDNN_POINTWISE_MUL, ds, scale, scores(m, F32));
    (void)dot(m, view(m, ds, transposed_scores(m)), q, part(m, false), keys, NULL, queries);
    k = view(m, k, rows(m, 3, false, F32, API_VIRTUAL));
    if (in_order) {
        (void)dot(m, ds, k, part(m, false), queries, NULL, keys);
    } else {
        void *sum =
            dot(m, ds, k, packed(m, F32, API_REAL, T, m->features), queries, NULL, keys);

        (void)point(m, CUDNN_POINTWISE_IDENTITY, sum, NULL, part(m, false));
    }
    return m->n;
}

#define GRADIENT(name, in_order, masked, wide)                                           \
    static int name(struct api *a, cudnnDataType_t t, void **ops)                        \
    {                                                                                    \
        struct making m = begin(a, t, ops);                                              \
                                                                                         \
        m.features = wide;                                                               \
        return gradient(&m, in_order, masked);                                           \
    }
GRADIENT(make_gradient, false, false, 64)
GRADIENT(make_in_order, true, false, 64)
GRADIENT(make_masked, false, true, 80)
GRADIENT(make_masked_in_order, true, true, 128)
GRADIENT(make_narrow_gradient, false, false, 20)

const struct cudnn_graph_case cudnn_attention_cases[] = {
    {"attention", true, make_forward},
    {"attention, 20 features", false, make_narrow},
    {"attention's gradient", true, make_gradient},
    {"attention's gradient, in order", true, make_in_order},
    {"attention's gradient, masked", true, make_masked},
    {"attention's gradient, masked, in order", true, make_masked_in_order},
    {"attention's gradient, 20 features", false, make_narrow_gradient},
};

const int cudnn_nattention_case =
    sizeof(cudnn_attention_cases) / sizeof(cudnn_attention_cases[0]);
