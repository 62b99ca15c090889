/*
 * norm_fold and its gradient: kernels on matrices of C x C and K x C, fp32 with sums of
 * rows in fp64. Every sum has a fixed order.
 *
 *   forward   covariance; product = W covariance; a block per row of W
 *   gradient  a block per row of W; dgram = W^T (diag(b/2) W); dsum
 *
 * The covariance is subtracted in fp64 before it is rounded to fp32, so that the product
 * works on numbers of the variance's size. The two products are cuBLASLt's, in fp32
 * whatever CUDNN.ALLOW_TF32 says: a variance is a difference of their terms.
 * Bytes: each matrix a few times, from L2.
 */
#include "ops/norm_fold.h"

#include "cuda/cublaslt.h"
#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "cuda/vec.h"
#include "ops/image.h"

enum { ALIGN = 256, ROW_THREADS = 128, SUM_THREADS = 256, SUM_COLUMNS = 32 };

struct fold_size {
    int out, in; /* K, C */
    double count;
    float eps;
};

static fold_size size_of(const struct node *n)
{
    const struct norm_fold_attrs *a = (const struct norm_fold_attrs *)n->attrs;
    const struct tensor *w = n->in[NORM_FOLD_W];

    return {(int)w->dim[WEIGHT_O], (int)w->dim[WEIGHT_I], (double)a->count, a->norm.eps};
}

/* Bytes of a matrix in the workspace. */
static size_t matrix_bytes(int rows, int columns)
{
    size_t n = (size_t)rows * (size_t)columns * sizeof(float);

    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

struct norm_fold_state {
    struct cublaslt_plan *plan;
};

/* Plans m x n = (m x k) (k x n); returns NULL or why there is no plan. */
static const char *plan_product(struct region *r, struct device *dev, int m, int n, int k,
                                bool transposed_a)
{
    norm_fold_state *st = (norm_fold_state *)region_state(r);
    struct cublaslt_matmul what = {};
    const char *why;

    what.m = m;
    what.n = n;
    what.k = k;
    what.transposed_a = transposed_a;
    what.type = what.out = DTYPE_F32;
    what.full = true;
    st->plan = cublaslt_plan_new(dev, &what, &why);
    return why;
}

static void fold_release(struct step *s)
{
    cublaslt_plan_free(((const norm_fold_state *)s->state)->plan);
}

static void fold_describe(const struct step *s, struct strbuf *text)
{
    cublaslt_describe(((const norm_fold_state *)s->state)->plan, text);
}

/* ---- forward ---- */

__global__ void fold_covariance(const float *gram, const float *sum, float *cov,
                                fold_size s)
{
    int i = (int)blockIdx.x;
    double mean = sum[i] / s.count;

    for (int j = (int)threadIdx.x; j < s.in; j += ROW_THREADS)
        cov[(int64_t)i * s.in + j] =
            (float)(gram[(int64_t)i * s.in + j] / s.count - mean * (sum[j] / s.count));
}

struct fold_vectors {
    const float *w, *weight, *bias, *sum, *product;
    float *shift, *mean, *var; /* each may be NULL */
};

/* A block per row k of W; folded may be NULL. */
template <class T>
__global__ void __launch_bounds__(ROW_THREADS)
    fold_rows(fold_vectors v, T *folded, fold_size s)
{
    __shared__ double shared[ROW_THREADS / 32];
    int k = (int)blockIdx.x;
    const float *w = v.w + (int64_t)k * s.in, *product = v.product + (int64_t)k * s.in;
    double mean = 0, var = 0;

    for (int i = (int)threadIdx.x; i < s.in; i += ROW_THREADS) {
        mean += (double)w[i] * v.sum[i];
        var += (double)w[i] * product[i];
    }
    mean = block_sum<ROW_THREADS>(mean, shared) / s.count;
    var = block_sum<ROW_THREADS>(var, shared);
    var = var < 0 ? 0 : var; /* keeps NaN */

    double a = v.weight[k] / sqrt(var + (double)s.eps);

    for (int i = (int)threadIdx.x; folded && i < s.in; i += ROW_THREADS)
        folded[(int64_t)k * s.in + i] = from_float<T>((float)(a * w[i]));
    if (threadIdx.x)
        return;
    if (v.shift)
        v.shift[k] = (float)(v.bias[k] - a * mean);
    if (v.mean)
        v.mean[k] = (float)mean;
    if (v.var)
        v.var[k] = (float)var;
}

static const char *fold_claim(struct region *r, struct graph *, struct node *n,
                              struct device *dev)
{
    const char *why;
    fold_size s;

    if (n->op != &op_norm_fold)
        return "no folded batch norm";
    s = size_of(n);
    why = plan_product(r, dev, s.out, s.in, s.in, false);
    if (why)
        return why;
    region_claim_node(r, n);
    region_workspace(r,
                     matrix_bytes(s.in, s.in) + matrix_bytes(s.out, s.in) +
                         cublaslt_workspace(((norm_fold_state *)region_state(r))->plan));
    return nullptr;
}

static void fold_run(struct step *step, struct device *dev)
{
    const struct node *n = step->node;
    fold_size s = size_of(n);
    const float *const *in = (const float *const *)step->in;
    float *const *out = (float *const *)step->out;
    char *cov = (char *)step->workspace, *spare = cov + matrix_bytes(s.in, s.in);
    /* unread results are written to the workspace */
    float *product = out[NORM_FOLD_PRODUCT] ? out[NORM_FOLD_PRODUCT] : (float *)spare;
    fold_vectors v = {
        in[NORM_FOLD_W], in[NORM_FOLD_WEIGHT], in[NORM_FOLD_BIAS],  in[NORM_FOLD_SUM],
        product,         out[NORM_FOLD_SHIFT], out[NORM_FOLD_MEAN], out[NORM_FOLD_VAR]};

    LAUNCH(dev, fold_covariance, (unsigned)s.in, ROW_THREADS, 0, in[NORM_FOLD_GRAM],
           in[NORM_FOLD_SUM], (float *)cov, s);
    cublaslt_run(dev, ((const norm_fold_state *)step->state)->plan, v.w, cov, product,
                 nullptr, spare + matrix_bytes(s.out, s.in));
    WITH_DTYPE(step->out_tensor[NORM_FOLD_FOLDED]->dtype, T,
               LAUNCH(dev, fold_rows<T>, (unsigned)s.out, ROW_THREADS, 0, v,
                      (T *)step->out[NORM_FOLD_FOLDED], s));
}

const struct kernel cuda_norm_fold = {
    .name = "cuda norm_fold",
    .claim = fold_claim,
    .run = fold_run,
    .release = fold_release,
    .state_size = sizeof(norm_fold_state),
    .describe = fold_describe,
};

/* ---- gradient ---- */

struct fold_grads {
    const float *w, *weight, *sum, *mean, *var, *product, *dfolded, *dshift;
    float *dw, *dweight, *dbias; /* each may be NULL */
    float *scaled, *c;           /* scaled [K][C]: rows of W times b/2 */
};

/* A block per row k of W. */
__global__ void __launch_bounds__(ROW_THREADS) fold_grad_rows(fold_grads g, fold_size s)
{
    __shared__ double shared[ROW_THREADS / 32];
    int k = (int)blockIdx.x;
    const float *w = g.w + (int64_t)k * s.in, *product = g.product + (int64_t)k * s.in;
    const float *dfolded = g.dfolded + (int64_t)k * s.in;
    double mean = g.mean[k], q = g.dshift[k], dot = 0;
    double rstd = 1 / sqrt((double)g.var[k] + (double)s.eps), a = g.weight[k] * rstd;

    for (int i = (int)threadIdx.x; i < s.in; i += ROW_THREADS)
        dot += (double)dfolded[i] * w[i];
    dot = (block_sum<ROW_THREADS>(dot, shared) - q * mean) * rstd;

    double b = -a * dot * rstd / s.count, all = -a * q / s.count;

    for (int i = (int)threadIdx.x; i < s.in; i += ROW_THREADS) {
        if (g.dw)
            g.dw[(int64_t)k * s.in + i] =
                (float)(a * dfolded[i] + b * s.count * product[i] + all * g.sum[i]);
        g.scaled[(int64_t)k * s.in + i] = (float)(b / 2 * w[i]);
    }
    if (threadIdx.x)
        return;
    if (g.dweight)
        g.dweight[k] = (float)dot;
    if (g.dbias)
        g.dbias[k] = (float)q;
    g.c[k] = (float)(all - b * mean);
}

/* dsum[i] = sum of c[k] w[k][i]: a block for SUM_COLUMNS columns. */
__global__ void __launch_bounds__(SUM_THREADS)
    fold_dsum(const float *w, const float *c, float *dsum, fold_size s)
{
    constexpr int PARTS = SUM_THREADS / SUM_COLUMNS;
    __shared__ double shared[SUM_THREADS];
    int column = (int)threadIdx.x % SUM_COLUMNS, part = (int)threadIdx.x / SUM_COLUMNS;
    int i = (int)blockIdx.x * SUM_COLUMNS + column;
    double sum = 0;

    for (int k = part; i < s.in && k < s.out; k += PARTS)
        sum += (double)c[k] * w[(int64_t)k * s.in + i];
    shared[threadIdx.x] = sum;
    __syncthreads();
    if (part || i >= s.in)
        return;
    for (int p = 1; p < PARTS; p++)
        sum += shared[p * SUM_COLUMNS + column];
    dsum[i] = (float)sum;
}

static const char *fold_grad_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *dev)
{
    const char *why;
    fold_size s;

    if (n->op != &op_norm_fold_grad)
        return "not the gradient of a folded batch norm";
    s = size_of(n);
    why = plan_product(r, dev, s.in, s.in, s.out, true);
    if (why)
        return why;
    region_claim_node(r, n);
    region_workspace(r,
                     matrix_bytes(s.out, s.in) + matrix_bytes(s.out, 1) +
                         cublaslt_workspace(((norm_fold_state *)region_state(r))->plan));
    return nullptr;
}

static void fold_grad_run(struct step *step, struct device *dev)
{
    fold_size s = size_of(step->node);
    const float *const *in = (const float *const *)step->in;
    float *const *out = (float *const *)step->out;
    char *scaled = (char *)step->workspace, *c = scaled + matrix_bytes(s.out, s.in);
    const float *w = in[NORM_FOLD_GRAD_W];
    float *dgram = out[NORM_FOLD_GRAD_DGRAM], *dsum = out[NORM_FOLD_GRAD_DSUM];
    fold_grads g = {w,
                    in[NORM_FOLD_GRAD_WEIGHT],
                    in[NORM_FOLD_GRAD_SUM],
                    in[NORM_FOLD_GRAD_MEAN],
                    in[NORM_FOLD_GRAD_VAR],
                    in[NORM_FOLD_GRAD_PRODUCT],
                    in[NORM_FOLD_GRAD_DFOLDED],
                    in[NORM_FOLD_GRAD_DSHIFT],
                    out[NORM_FOLD_GRAD_DW],
                    out[NORM_FOLD_GRAD_DWEIGHT],
                    out[NORM_FOLD_GRAD_DBIAS],
                    (float *)scaled,
                    (float *)c};

    LAUNCH(dev, fold_grad_rows, (unsigned)s.out, ROW_THREADS, 0, g, s);
    if (dgram)
        cublaslt_run(dev, ((const norm_fold_state *)step->state)->plan, w, scaled, dgram,
                     nullptr, c + matrix_bytes(s.out, 1));
    if (dsum)
        LAUNCH(dev, fold_dsum, cuda_blocks(s.in, SUM_COLUMNS, 1), SUM_THREADS, 0, w,
               (float *)c, dsum, s);
}

const struct kernel cuda_norm_fold_grad = {
    .name = "cuda norm_fold_grad",
    .claim = fold_grad_claim,
    .run = fold_grad_run,
    .release = fold_release,
    .state_size = sizeof(norm_fold_state),
    .describe = fold_describe,
};
