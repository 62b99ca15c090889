/*
 * The gradient of layer norm (cuda/layernorm.h). Gradients of weight and bias: a lane
 * keeps its channels for all rows that it sees; a block leaves a row of sums, and a second
 * kernel adds those in fp64, in a fixed order.
 */
#include "cuda/layernorm.h"

#include "cuda/batchnorm.h"
#include "cuda/kernels.h"

enum { BLOCK = LAYERNORM_BLOCK, WARP = 32 };

struct grad_pointers {
    const float *mean, *rstd, *weight;
    float *sums; /* [blocks][2][channels]: of dy xhat, of dy; NULL: nobody wants them */
};

/*
 * A block's sums over its rows, lanes of the same channels together: within warps by
 * shuffles, then warp after warp in shared memory, [2][channels] floats.
 */
template <class T, int EACH>
__device__ static inline void leave_sums(const float *dweight, const float *dbias,
                                         float *sums, int lane, const layernorm_shape &s)
{
    constexpr int N = vec<T>::N;
    SHARED_BYTES(bytes);
    float *shared = reinterpret_cast<float *>(bytes);
    int t = (int)threadIdx.x, warp = t / WARP;
    float w[EACH * N], b[EACH * N];

    UNROLL_WHOLE
    for (int k = 0; k < EACH * N; k++) {
        w[k] = dweight[k];
        b[k] = dbias[k];
        for (int lanes = s.lanes; lanes < WARP; lanes *= 2) {
            w[k] += __shfl_xor_sync(0xffffffffu, w[k], lanes);
            b[k] += __shfl_xor_sync(0xffffffffu, b[k], lanes);
        }
    }
    for (int turn = 0; turn < BLOCK / WARP; turn++) {
        if (turn == warp && t % WARP < s.lanes)
            row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
                for (int k = 0; k < N; k++) {
                    float *at = shared + c + k;

                    at[0] = w[i * N + k] + (turn ? at[0] : 0);
                    at[s.channels] = b[i * N + k] + (turn ? at[s.channels] : 0);
                }
            });
        __syncthreads();
    }
    for (int c = t; c < 2 * s.channels; c += BLOCK)
        sums[(int64_t)blockIdx.x * 2 * s.channels + c] = shared[c];
}

template <class T, int EACH, bool WIDE>
__global__ void __launch_bounds__(BLOCK)
    layernorm_grad_rows(const T *x, const T *dy, T *dx, grad_pointers p,
                        layernorm_shape s)
{
    constexpr int N = vec<T>::N;
    using row_part = row_slice<T, EACH>;
    __shared__ float shared[BLOCK / WARP];
    int lane = (int)threadIdx.x % s.lanes, per_block = BLOCK / s.lanes;
    int64_t first = (int64_t)blockIdx.x * per_block;
    float dweight[EACH * N] = {}, dbias[EACH * N] = {};

    for (; first < s.rows; first += (int64_t)gridDim.x * per_block) {
        int64_t row = first + (int)threadIdx.x / s.lanes;
        bool on = row < s.rows;
        float mean = 0, rstd = 0, g_sum = 0, gx_sum = 0;
        row_part a, d;

        if (on) {
            a.load(x + row * s.channels, lane, s);
            d.load(dy + row * s.channels, lane, s);
            mean = p.mean[row];
            rstd = p.rstd[row];
            row_part::each(lane, s, [&](int i, int c) {
                float w[N];

                weights_load<N>(p.weight, c, 1, w);
                for (int k = 0; k < N; k++) {
                    float xhat = layernorm_xhat(a.v[i].get(k), mean, rstd);
                    float dyk = d.v[i].get(k), g = dyk * w[k];

                    dweight[i * N + k] += dyk * xhat;
                    dbias[i * N + k] += dyk;
                    g_sum += g;
                    gx_sum += g * xhat;
                }
            });
        }
        if (!dx)
            continue;
        g_sum = lanes_sum<WIDE>(g_sum, s.lanes, shared) / (float)s.channels;
        gx_sum = lanes_sum<WIDE>(gx_sum, s.lanes, shared) / (float)s.channels;
        if (on)
            row_part::each(lane, s, [&](int i, int c) {
                float w[N];

                weights_load<N>(p.weight, c, 1, w);
                for (int k = 0; k < N; k++)
                    d.v[i].set(k, layernorm_dx(d.v[i].get(k) * w[k],
                                               layernorm_xhat(a.v[i].get(k), mean, rstd),
                                               rstd, g_sum, gx_sum));
                vec_store(dx + row * s.channels + c, d.v[i]);
            });
    }
    if (!p.sums)
        return;
    if (WIDE) /* one row at a time: nobody else has these channels */
        row_part::each(lane, s, [&](int i, int c) {
            float *to = p.sums + (int64_t)blockIdx.x * 2 * s.channels + c;

            for (int k = 0; k < N; k++) {
                to[k] = dweight[i * N + k];
                to[s.channels + k] = dbias[i * N + k];
            }
        });
    else
        leave_sums<T, EACH>(dweight, dbias, p.sums, lane, s);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    layernorm_grad_any(const T *x, const T *dy, T *dx, grad_pointers p, layernorm_shape s)
{
    __shared__ float shared[BLOCK / WARP];

    for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
        const T *a = x + row * s.channels, *d = dy + row * s.channels;
        float mean = p.mean[row], rstd = p.rstd[row], g_sum = 0, gx_sum = 0;

        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
            float g = to_float(d[c]) * (p.weight ? p.weight[c] : 1);

            g_sum += g;
            gx_sum += g * layernorm_xhat(to_float(a[c]), mean, rstd);
        }
        g_sum = block_sum<BLOCK>(g_sum, shared) / (float)s.channels;
        gx_sum = block_sum<BLOCK>(gx_sum, shared) / (float)s.channels;
        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK)
            dx[row * s.channels + c] = from_float<T>(layernorm_dx(
                to_float(d[c]) * (p.weight ? p.weight[c] : 1),
                layernorm_xhat(to_float(a[c]), mean, rstd), rstd, g_sum, gx_sum));
    }
}

/* The sums of rows b, b + blocks, ... for block b, a thread for some channels. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    layernorm_columns(const T *x, const T *dy, grad_pointers p, layernorm_shape s)
{
    for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
        float *to = p.sums + (int64_t)blockIdx.x * 2 * s.channels + c;
        float dweight = 0, dbias = 0;

        for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
            float d = to_float(dy[row * s.channels + c]);

            dweight += d * layernorm_xhat(to_float(x[row * s.channels + c]), p.mean[row],
                                          p.rstd[row]);
            dbias += d;
        }
        to[0] = dweight;
        to[s.channels] = dbias;
    }
}

/* Adds what the blocks left; channel c of 2 channels: of dweight, then of dbias. */
__global__ void __launch_bounds__(COMBINE_THREADS)
    layernorm_combine(const float *sums, float *dweight, float *dbias, int channels,
                      int blocks)
{
    int c = (int)blockIdx.x * COMBINE_CHANNELS + (int)threadIdx.x % COMBINE_CHANNELS;
    double sum = 0;

    if (c < 2 * channels)
        for (int i = (int)threadIdx.x / COMBINE_CHANNELS; i < blocks;
             i += COMBINE_THREADS / COMBINE_CHANNELS)
            sum += (double)sums[(int64_t)i * 2 * channels + c];
    sum = combine_sum(sum);
    if ((int)threadIdx.x >= COMBINE_CHANNELS || c >= 2 * channels)
        return;
    if (c < channels && dweight)
        dweight[c] = (float)sum;
    if (c >= channels && dbias)
        dbias[c - channels] = (float)sum;
}

static const char *layernorm_grad_claim(struct region *r, struct graph *, struct node *n,
                                        struct device *dev)
{
    layernorm_shape *s = (layernorm_shape *)region_state(r);
    struct tensor *x = n->in[LAYERNORM_GRAD_X];

    if (n->op != &op_layernorm_grad)
        return "not the gradient of a layer norm";
    if (n->in[LAYERNORM_GRAD_DY]->dtype != x->dtype ||
        n->out[LAYERNORM_GRAD_DX]->dtype != x->dtype)
        return "one type for x, dy and dx";

    *s = layernorm_shape_of(x, n, dev, GRAD_BLOCKS);
    region_take_alone(r, n);
    region_inplace(r, LAYERNORM_GRAD_DX, LAYERNORM_GRAD_DY);
    region_workspace(r, (size_t)s->blocks * 2 * (size_t)s->channels * sizeof(float));
    return nullptr;
}

template <class T>
static void run_grad(struct step *s, struct device *dev, const grad_pointers &p,
                     const layernorm_shape &k)
{
    const T *x = (const T *)s->in[LAYERNORM_GRAD_X],
            *dy = (const T *)s->in[LAYERNORM_GRAD_DY];
    T *dx = (T *)s->out[LAYERNORM_GRAD_DX];
    unsigned grid = (unsigned)k.blocks;
    size_t shared = k.lanes == BLOCK ? 0 : 2 * (size_t)k.channels * sizeof(float);

    if (k.each) {
        WITH_EACH(k, EACH, WIDE, {
            LAUNCH(dev, (layernorm_grad_rows<T, EACH, WIDE>), grid, BLOCK, shared, x, dy,
                   dx, p, k);
        });
        return;
    }
    if (p.sums) /* first: dx may lie on dy */
        LAUNCH(dev, layernorm_columns<T>, grid, BLOCK, 0, x, dy, p, k);
    if (dx)
        LAUNCH(dev, layernorm_grad_any<T>, grid, BLOCK, 0, x, dy, dx, p, k);
}

static void layernorm_grad_run(struct step *s, struct device *dev)
{
    const layernorm_shape &k = *(const layernorm_shape *)s->state;
    float *dweight = (float *)s->out[LAYERNORM_GRAD_DWEIGHT];
    float *dbias = (float *)s->out[LAYERNORM_GRAD_DBIAS];
    grad_pointers p = {};

    p.mean = (const float *)s->in[LAYERNORM_GRAD_MEAN];
    p.rstd = (const float *)s->in[LAYERNORM_GRAD_RSTD];
    if (s->nin > LAYERNORM_GRAD_WEIGHT)
        p.weight = (const float *)s->in[LAYERNORM_GRAD_WEIGHT];
    if (dweight || dbias)
        p.sums = (float *)s->workspace;
    WITH_DTYPE(s->in_tensor[LAYERNORM_GRAD_X]->dtype, T, run_grad<T>(s, dev, p, k));
    if (p.sums)
        LAUNCH(dev, layernorm_combine, combine_blocks(2 * k.channels), COMBINE_THREADS, 0,
               (const float *)p.sums, dweight, dbias, k.channels, k.blocks);
}

extern const struct kernel cuda_layernorm_grad = {
    .name = "cuda layernorm_grad",
    .claim = layernorm_grad_claim,
    .run = layernorm_grad_run,
    .state_size = sizeof(layernorm_shape),
};
