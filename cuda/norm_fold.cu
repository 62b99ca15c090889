/*
 * norm_fold and its gradient: kernels on matrices of C x C and K x C, fp32 with sums of
 * rows in fp64. Every sum has a fixed order.
 *
 *   forward   covariance; product = W covariance (tiles); a block per row of W
 *   gradient  a block per row of W; dgram = W^T diag(b/2) W (tiles); dsum
 *
 * The covariance is subtracted in fp64 before it is rounded to fp32, so that the product
 * works on numbers of the variance's size. Bytes: each matrix a few times, from L2.
 */
#include "ops/norm_fold.h"

#include "cuda/kernels.h"
#include "cuda/reduce.h"
#include "cuda/tile_gemm.h"
#include "ops/image.h"

enum { ROW_THREADS = 128, TILE_LEN = 32, TILE_STRIDE = TILE_LEN + 4, SUM_COLUMNS = 32 };

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

/* ---- products ---- */

/* Operand rows [first, first + SIDE) of x [rows][len], columns from `at`; zeros beyond. */
template <int SIDE>
__device__ static inline void load_rows(float *to, const float *x, int first, int rows,
                                        int at, int len)
{
    for (int i = (int)threadIdx.x; i < SIDE * TILE_LEN; i += TILE_GEMM_THREADS) {
        int r = i / TILE_LEN, c = i % TILE_LEN;
        bool in = first + r < rows && at + c < len;

        to[r * TILE_STRIDE + c] = in ? x[(int64_t)(first + r) * len + at + c] : 0;
    }
}

/* The same of x^T, x [len][rows]; row l of x is multiplied by scale[l] if not NULL. */
template <int SIDE>
__device__ static inline void load_columns(float *to, const float *x, const float *scale,
                                           int first, int rows, int at, int len)
{
    for (int i = (int)threadIdx.x; i < SIDE * TILE_LEN; i += TILE_GEMM_THREADS) {
        int r = i % SIDE, c = i / SIDE;
        bool in = first + r < rows && at + c < len;
        float v = in ? x[(int64_t)(at + c) * rows + first + r] : 0;

        to[r * TILE_STRIDE + c] = in && scale ? v * scale[at + c] : v;
    }
}

template <int EACH>
__device__ static inline void store_tile(float *y, const float (&sum)[EACH][EACH], int row,
                                         int column, int rows, int columns)
{
    for (int a = 0; a < EACH; a++)
        for (int b = 0; b < EACH; b++) {
            int r = row + tile_gemm_row(a), c = column + tile_gemm_x() + 16 * b;

            if (r < rows && c < columns)
                y[(int64_t)r * columns + c] = sum[a][b];
        }
}

/* product [out][in] = w [out][in] cov [in][in], which is symmetric */
template <int EACH>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    fold_product(const float *w, const float *cov, float *product, fold_size s)
{
    constexpr int SIDE = TILE_GEMM_SIDE * EACH;
    __shared__ __align__(16) float x[SIDE * TILE_STRIDE], y[SIDE * TILE_STRIDE];
    int tiles = (s.in + SIDE - 1) / SIDE;
    int row = (int)blockIdx.x / tiles * SIDE, column = (int)blockIdx.x % tiles * SIDE;
    float sum[EACH][EACH] = {};

    for (int at = 0; at < s.in; at += TILE_LEN) {
        __syncthreads();
        load_rows<SIDE>(x, w, row, s.out, at, s.in);
        load_rows<SIDE>(y, cov, column, s.in, at, s.in);
        __syncthreads();
        tile_gemm_dot(sum, x, y, TILE_STRIDE, TILE_LEN);
    }
    store_tile<EACH>(product, sum, row, column, s.out, s.in);
}

/* dgram [in][in] = w^T diag(half_b) w */
template <int EACH>
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    fold_dgram(const float *w, const float *half_b, float *dgram, fold_size s)
{
    constexpr int SIDE = TILE_GEMM_SIDE * EACH;
    __shared__ __align__(16) float x[SIDE * TILE_STRIDE], y[SIDE * TILE_STRIDE];
    int tiles = (s.in + SIDE - 1) / SIDE;
    int row = (int)blockIdx.x / tiles * SIDE, column = (int)blockIdx.x % tiles * SIDE;
    float sum[EACH][EACH] = {};

    for (int at = 0; at < s.out; at += TILE_LEN) {
        __syncthreads();
        load_columns<SIDE>(x, w, half_b, row, s.in, at, s.out);
        load_columns<SIDE>(y, w, nullptr, column, s.in, at, s.out);
        __syncthreads();
        tile_gemm_dot(sum, x, y, TILE_STRIDE, TILE_LEN);
    }
    store_tile<EACH>(dgram, sum, row, column, s.in, s.in);
}

static unsigned tiles_of(int rows, int columns, int side)
{
    return (unsigned)((rows + side - 1) / side) * (unsigned)((columns + side - 1) / side);
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

static size_t square_bytes(const fold_size &s)
{
    return ((size_t)s.in * (size_t)s.in * sizeof(float) + 255) / 256 * 256;
}

static const char *fold_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    fold_size s;

    if (n->op != &op_norm_fold)
        return "no folded batch norm";
    s = size_of(n);
    region_claim_node(r, n);
    region_workspace(r, square_bytes(s) + (size_t)s.out * (size_t)s.in * sizeof(float));
    return nullptr;
}

static void fold_run(struct step *step, struct device *dev)
{
    const struct node *n = step->node;
    fold_size s = size_of(n);
    const float *const *in = (const float *const *)step->in;
    float *const *out = (float *const *)step->out;
    float *cov = (float *)step->workspace;
    /* unread results are written to the workspace */
    float *spare = cov + square_bytes(s) / sizeof(float);
    float *product = out[NORM_FOLD_PRODUCT] ? out[NORM_FOLD_PRODUCT] : spare;
    fold_vectors v = {in[NORM_FOLD_W],    in[NORM_FOLD_WEIGHT], in[NORM_FOLD_BIAS],
                      in[NORM_FOLD_SUM],  product,              out[NORM_FOLD_SHIFT],
                      out[NORM_FOLD_MEAN], out[NORM_FOLD_VAR]};

    LAUNCH(dev, fold_covariance, (unsigned)s.in, ROW_THREADS, 0, in[NORM_FOLD_GRAM],
           in[NORM_FOLD_SUM], cov, s);
    if (s.in < 256)
        LAUNCH(dev, fold_product<2>, tiles_of(s.out, s.in, 32), TILE_GEMM_THREADS, 0, v.w,
               cov, product, s);
    else
        LAUNCH(dev, fold_product<4>, tiles_of(s.out, s.in, 64), TILE_GEMM_THREADS, 0, v.w,
               cov, product, s);
    WITH_DTYPE(step->out_tensor[NORM_FOLD_FOLDED]->dtype, T,
               LAUNCH(dev, fold_rows<T>, (unsigned)s.out, ROW_THREADS, 0, v,
                      (T *)step->out[NORM_FOLD_FOLDED], s));
}

const struct kernel cuda_norm_fold = {
    .name = "cuda norm_fold",
    .claim = fold_claim,
    .run = fold_run,
};

/* ---- gradient ---- */

struct fold_grads {
    const float *w, *weight, *sum, *mean, *var, *product, *dfolded, *dshift;
    float *dw, *dweight, *dbias; /* each may be NULL */
    float *half_b, *c;
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

    for (int i = (int)threadIdx.x; g.dw && i < s.in; i += ROW_THREADS)
        g.dw[(int64_t)k * s.in + i] =
            (float)(a * dfolded[i] + b * s.count * product[i] + all * g.sum[i]);
    if (threadIdx.x)
        return;
    if (g.dweight)
        g.dweight[k] = (float)dot;
    if (g.dbias)
        g.dbias[k] = (float)q;
    g.half_b[k] = (float)(b / 2);
    g.c[k] = (float)(all - b * mean);
}

/* dsum[i] = sum of c[k] w[k][i]: a block for SUM_COLUMNS columns. */
__global__ void __launch_bounds__(TILE_GEMM_THREADS)
    fold_dsum(const float *w, const float *c, float *dsum, fold_size s)
{
    constexpr int PARTS = TILE_GEMM_THREADS / SUM_COLUMNS;
    __shared__ double shared[TILE_GEMM_THREADS];
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
                                   struct device *)
{
    if (n->op != &op_norm_fold_grad)
        return "not the gradient of a folded batch norm";
    region_claim_node(r, n);
    region_workspace(r, 2 * sizeof(float) * (size_t)size_of(n).out);
    return nullptr;
}

static void fold_grad_run(struct step *step, struct device *dev)
{
    fold_size s = size_of(step->node);
    const float *const *in = (const float *const *)step->in;
    float *const *out = (float *const *)step->out;
    float *half_b = (float *)step->workspace, *c = half_b + s.out;
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
                    half_b,
                    c};

    LAUNCH(dev, fold_grad_rows, (unsigned)s.out, ROW_THREADS, 0, g, s);
    if (dgram && s.in < 256)
        LAUNCH(dev, fold_dgram<2>, tiles_of(s.in, s.in, 32), TILE_GEMM_THREADS, 0, w,
               half_b, dgram, s);
    else if (dgram)
        LAUNCH(dev, fold_dgram<4>, tiles_of(s.in, s.in, 64), TILE_GEMM_THREADS, 0, w,
               half_b, dgram, s);
    if (dsum)
        LAUNCH(dev, fold_dsum, cuda_blocks(s.in, SUM_COLUMNS, 1), TILE_GEMM_THREADS, 0, w,
               c, dsum, s);
}

const struct kernel cuda_norm_fold_grad = {
    .name = "cuda norm_fold_grad",
    .claim = fold_grad_claim,
    .run = fold_grad_run,
};
