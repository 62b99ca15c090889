/*
 * The gradient of layer norm (cuda/layernorm.h). For the gradients of weight and bias, a
 * lane keeps its channels for all its rows; a block stores a row of sums, and a second
 * kernel adds those in fp64, in a fixed order.
 *
 * If x is a residual sum (cuda/residual.h), its gradient is the sum of dx, rounded, and
 * the gradient that bypassed the norm. That sum is written here instead of dx, and once
 * more multiplied by the branch's factors. If the sums are fp32, dy and the branch's
 * gradient may have 16 bits. Fused and separate kernels return the same bits.
 */
#include "cuda/layernorm.h"

#include "cuda/batchnorm.h"
#include "cuda/kernels.h"
#include "ops/cast.h"

enum { BLOCK = LAYERNORM_BLOCK, WARP = 32 };

struct grad_pointers {
    const float *mean, *rstd, *weight;
    float *sums; /* [blocks][2][channels]: of dy xhat, of dy; NULL: not wanted */
};

/* The term added to dx; other NULL: none. The sum is written instead of dx, and may
 * overwrite `other`; `dropped` may overwrite dy. */
template <class T, class H> struct grad_addend {
    const T *other;
    H *dropped; /* may be NULL; all factors may be 1 */
    path_mask mask;
};

/* Adds to a rounded dx like cuda/add.cu: nothing is contracted into an fma. */
template <class T> __device__ static inline T grad_sum(T dx, float other)
{
    return from_float<T>(__fadd_rn(to_float(dx), other));
}

/*
 * Sums over a block's rows, for lanes with the same channels: within warps by shuffles,
 * then warp after warp in shared memory, [2][channels] floats.
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
                    float *ptr = shared + c + k;

                    ptr[0] = w[i * N + k] + (turn ? ptr[0] : 0);
                    ptr[s.channels] = b[i * N + k] + (turn ? ptr[s.channels] : 0);
                }
            });
        __syncthreads();
    }
    for (int c = t; c < 2 * s.channels; c += BLOCK)
        sums[(int64_t)blockIdx.x * 2 * s.channels + c] = shared[c];
}

/* What a lane reads of a row. */
template <class T, class H, int EACH, bool ADDED> struct grad_row {
    static constexpr int N = vec<T>::N;
    words<T, N> x[EACH], other[ADDED ? EACH : 1];
    words<H, N> dy[EACH];
    float mean = 0, rstd = 0;

    /* Only issues the loads, if the row exists. */
    __device__ void load(const T *from_x, const H *from_dy, const T *from_other,
                         const grad_pointers &p, int64_t row, int lane,
                         const layernorm_shape &s)
    {
        int64_t pos = row * s.channels;

        if (row >= s.rows)
            return;
        row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
            x[i] = words_load<N>(from_x + pos + c);
            dy[i] = words_load<N>(from_dy + pos + c);
            if (ADDED)
                other[i] = words_load<N>(from_other + pos + c);
        });
        mean = p.mean[row];
        rstd = p.rstd[row];
    }
};

/* The rounded results of a lane. */
template <class T, class H, int EACH, bool ADDED>
__device__ static inline void
store_grads(const grad_row<T, H, EACH, ADDED> &in, const float *w, float g_sum,
            float gx_sum, T *dx, const grad_addend<T, H> &r, int64_t row, int lane,
            const layernorm_shape &s)
{
    constexpr int N = vec<T>::N;
    float factor = ADDED && r.dropped ? path_factor(r.mask, row) : 0;

    row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
        vec<T> v;

        for (int k = 0; k < N; k++)
            v.set(k, layernorm_dx(in.dy[i].get(k), w[i * N + k],
                                  layernorm_xhat(in.x[i].get(k), in.mean, in.rstd),
                                  in.rstd, g_sum, gx_sum));
        if (ADDED)
            for (int k = 0; k < N; k++)
                v.v[k] = grad_sum<T>(v.v[k], in.other[ADDED ? i : 0].get(k));
        if (dx)
            vec_store(dx + row * s.channels + c, v);
        if (ADDED && r.dropped) {
            pack<H, N> dropped;

            for (int k = 0; k < N; k++)
                dropped.set(k, v.get(k) * factor);
            pack_store(r.dropped + row * s.channels + c, dropped);
        }
    });
}

/* The loads of a lane's next row are issued before this one is computed. */
template <class T, class H, int EACH, bool WIDE, bool ADDED>
__global__ void __launch_bounds__(BLOCK)
    layernorm_grad_rows(const T *x, const H *dy, T *dx, grad_addend<T, H> r,
                        grad_pointers p, layernorm_shape s)
{
    constexpr int N = vec<T>::N;
    using row_part = row_slice<T, EACH>;
    __shared__ float shared[BLOCK / WARP];
    int lane = (int)threadIdx.x % s.lanes, per_block = BLOCK / s.lanes;
    int64_t first = (int64_t)blockIdx.x * per_block, step = (int64_t)gridDim.x * per_block;
    int64_t row = first + (int)threadIdx.x / s.lanes;
    float dweight[EACH * N] = {}, dbias[EACH * N] = {}, w[EACH * N];
    grad_row<T, H, EACH, ADDED> in, next;

    row_part::each(lane, s, [&](int i, int c) {
        weights_load<N>(p.weight, c, 1, w + i * N);
    });
    in.load(x, dy, r.other, p, row, lane, s);
    for (; first < s.rows; first += step, row += step, in = next) {
        float g_sum = 0, gx_sum = 0;

        next.load(x, dy, r.other, p, row + step, lane, s);
        if (row < s.rows)
            row_part::each(lane, s, [&](int i, int) {
                for (int k = 0; k < N; k++) {
                    float xhat = layernorm_xhat(in.x[i].get(k), in.mean, in.rstd);
                    float dyk = in.dy[i].get(k), weight = w[i * N + k];

                    dweight[i * N + k] = fmaf(dyk, xhat, dweight[i * N + k]);
                    dbias[i * N + k] += dyk;
                    g_sum = fmaf(dyk, weight, g_sum);
                    gx_sum = fmaf(dyk * weight, xhat, gx_sum);
                }
            });
        if (!dx && !ADDED)
            continue;
        g_sum = lanes_sum<WIDE>(g_sum, s.lanes, shared) / (float)s.channels;
        gx_sum = lanes_sum<WIDE>(gx_sum, s.lanes, shared) / (float)s.channels;
        if (row < s.rows)
            store_grads(in, w, g_sum, gx_sum, dx, r, row, lane, s);
    }
    if (!p.sums)
        return;
    if (WIDE) /* one row at a time: no other lane has these channels */
        row_part::each(lane, s, [&](int i, int c) {
            float *dst = p.sums + (int64_t)blockIdx.x * 2 * s.channels + c;

            for (int k = 0; k < N; k++) {
                dst[k] = dweight[i * N + k];
                dst[s.channels + k] = dbias[i * N + k];
            }
        });
    else
        leave_sums<T, EACH>(dweight, dbias, p.sums, lane, s);
}

template <class T, class H>
__global__ void __launch_bounds__(BLOCK)
    layernorm_grad_any(const T *x, const H *dy, T *dx, grad_addend<T, H> r,
                       grad_pointers p, layernorm_shape s)
{
    __shared__ float shared[BLOCK / WARP];

    for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
        int64_t pos = row * s.channels;
        const T *a = x + pos;
        const H *d = dy + pos;
        float mean = p.mean[row], rstd = p.rstd[row], g_sum = 0, gx_sum = 0;
        float factor = path_factor(r.mask, row);

        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
            float dyc = to_float(d[c]), weight = p.weight ? p.weight[c] : 1;

            g_sum = fmaf(dyc, weight, g_sum);
            gx_sum = fmaf(dyc * weight, layernorm_xhat(to_float(a[c]), mean, rstd),
                          gx_sum);
        }
        g_sum = block_sum<BLOCK>(g_sum, shared) / (float)s.channels;
        gx_sum = block_sum<BLOCK>(gx_sum, shared) / (float)s.channels;
        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
            T v = from_float<T>(layernorm_dx(
                to_float(d[c]), p.weight ? p.weight[c] : 1,
                layernorm_xhat(to_float(a[c]), mean, rstd), rstd, g_sum, gx_sum));

            if (r.other)
                v = grad_sum(v, to_float(r.other[pos + c]));
            if (dx)
                dx[pos + c] = v;
            if (r.dropped)
                r.dropped[pos + c] = from_float<H>(to_float(v) * factor);
        }
    }
}

/* Block b sums rows b, b + blocks, ...; a thread has some channels. */
template <class T, class H>
__global__ void __launch_bounds__(BLOCK)
    layernorm_columns(const T *x, const H *dy, grad_pointers p, layernorm_shape s)
{
    for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
        float *dst = p.sums + (int64_t)blockIdx.x * 2 * s.channels + c;
        float dweight = 0, dbias = 0;

        for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
            float d = to_float(dy[row * s.channels + c]);

            dweight = fmaf(d, layernorm_xhat(to_float(x[row * s.channels + c]),
                                             p.mean[row], p.rstd[row]),
                           dweight);
            dbias += d;
        }
        dst[0] = dweight;
        dst[s.channels] = dbias;
    }
}

/* Adds the blocks' sums; channel c of 2 channels: of dweight, then of dbias. */
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

struct norm_grad_state {
    layernorm_shape shape;
    bool weighted, added;
    int other;               /* index of a read, if added */
    const struct node *drop; /* may be NULL */
    int control;             /* index of a read, with drop */
    int dropped;             /* index of a write, or 0: none */
    int64_t sample_rows;
};

/* The sum replaces dx. */
static void claim_sum(struct region *r, norm_grad_state *st, const residual_grad &f)
{
    struct node *n = f.norm, *last = f.round ? f.round : f.drop;

    region_claim(r, n);
    region_claim(r, f.add);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, f.widen && i == LAYERNORM_GRAD_DY ? f.widen->in[CAST_X]
                                                               : n->in[i]);
    if (f.widen)
        region_claim(r, f.widen);
    st->other = region_read(r, f.other);
    if (f.drop) {
        region_claim(r, f.drop);
        st->control = region_read(r, f.drop->in[DROPOUT_CONTROL]);
    }
    st->drop = f.drop;
    st->sample_rows = f.rows;
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, i == LAYERNORM_GRAD_DX ? f.add->out[0] : n->out[i]);
    region_inplace(r, LAYERNORM_GRAD_DX, st->other);
    if (f.round)
        region_claim(r, f.round);
    if (last) {
        st->dropped = region_write(r, last->out[0]);
        region_inplace(r, st->dropped, LAYERNORM_GRAD_DY);
    }
}

static const char *layernorm_grad_claim(struct region *r, struct graph *g, struct node *n,
                                        struct device *dev)
{
    norm_grad_state *st = (norm_grad_state *)region_state(r);
    residual_grad f;
    const struct node *norm = n;

    st->added = residual_after(&f, g, n, dev);
    if (st->added)
        norm = f.norm;
    if (norm->op != &op_layernorm_grad)
        return "not the gradient of a layer norm, nor a residual sum of one";

    const struct tensor *x = norm->in[LAYERNORM_GRAD_X];

    if (norm->in[LAYERNORM_GRAD_DY]->dtype != x->dtype ||
        norm->out[LAYERNORM_GRAD_DX]->dtype != x->dtype)
        return "one type for x, dy and dx";

    st->shape = layernorm_shape_of(x, norm, dev, GRAD_BLOCKS);
    st->weighted = norm->nin > LAYERNORM_GRAD_WEIGHT;
    if (st->added) {
        claim_sum(r, st, f);
    } else {
        region_claim_node(r, n);
        region_inplace(r, LAYERNORM_GRAD_DX, LAYERNORM_GRAD_DY);
    }
    region_workspace(r, (size_t)st->shape.blocks * 2 * (size_t)st->shape.channels *
                            sizeof(float));
    return nullptr;
}

template <class T, class H, bool ADDED>
static void run_rows(struct step *s, struct device *dev, const grad_addend<T, H> &r,
                     const grad_pointers &p)
{
    const layernorm_shape &k = ((const norm_grad_state *)s->state)->shape;
    const T *x = (const T *)s->in[LAYERNORM_GRAD_X];
    const H *dy = (const H *)s->in[LAYERNORM_GRAD_DY];
    T *dx = (T *)s->out[LAYERNORM_GRAD_DX];
    size_t shared = k.lanes == BLOCK ? 0 : 2 * (size_t)k.channels * sizeof(float);

    WITH_EACH(k, EACH, WIDE, {
        LAUNCH(dev, (layernorm_grad_rows<T, H, EACH, WIDE, ADDED>), (unsigned)k.blocks,
               BLOCK, shared, x, dy, dx, r, p, k);
    });
}

template <class T, class H>
static void run_grad(struct step *s, struct device *dev, const grad_pointers &p)
{
    const norm_grad_state *st = (const norm_grad_state *)s->state;
    const layernorm_shape &k = st->shape;
    const T *x = (const T *)s->in[LAYERNORM_GRAD_X];
    const H *dy = (const H *)s->in[LAYERNORM_GRAD_DY];
    T *dx = (T *)s->out[LAYERNORM_GRAD_DX];
    grad_addend<T, H> r = {};

    if (st->added)
        r.other = (const T *)s->in[st->other];
    if (st->dropped)
        r.dropped = (H *)s->out[st->dropped];
    if (st->drop)
        r.mask = path_mask_of(st->drop, st->sample_rows, s->in[st->control]);
    if (k.each && st->added) {
        run_rows<T, H, true>(s, dev, r, p);
        return;
    }
    if constexpr (sizeof(T) == sizeof(H)) /* claimed as a part of a sum only, if not */
        if (k.each) {
            run_rows<T, H, false>(s, dev, r, p);
            return;
        }
    if (p.sums) /* first, because dx may overwrite dy */
        LAUNCH(dev, (layernorm_columns<T, H>), (unsigned)k.blocks, BLOCK, 0, x, dy, p, k);
    if (dx || st->added)
        LAUNCH(dev, (layernorm_grad_any<T, H>), (unsigned)k.blocks, BLOCK, 0, x, dy, dx,
               r, p, k);
}

static void layernorm_grad_run(struct step *s, struct device *dev)
{
    const norm_grad_state *st = (const norm_grad_state *)s->state;
    const layernorm_shape &k = st->shape;
    enum dtype x = s->in_tensor[LAYERNORM_GRAD_X]->dtype,
               dy = s->in_tensor[LAYERNORM_GRAD_DY]->dtype;
    float *dweight = (float *)s->out[LAYERNORM_GRAD_DWEIGHT];
    float *dbias = (float *)s->out[LAYERNORM_GRAD_DBIAS];
    grad_pointers p = {};

    p.mean = (const float *)s->in[LAYERNORM_GRAD_MEAN];
    p.rstd = (const float *)s->in[LAYERNORM_GRAD_RSTD];
    if (st->weighted)
        p.weight = (const float *)s->in[LAYERNORM_GRAD_WEIGHT];
    if (dweight || dbias)
        p.sums = (float *)s->workspace;
    if (dy != x)
        WITH_HALF(dy, H, (run_grad<float, H>(s, dev, p)));
    else
        WITH_DTYPE(dy, T, (run_grad<T, T>(s, dev, p)));
    if (p.sums)
        LAUNCH(dev, layernorm_combine, combine_blocks(2 * k.channels), COMBINE_THREADS, 0,
               (const float *)p.sums, dweight, dbias, k.channels, k.blocks);
}

extern const struct kernel cuda_layernorm_grad = {
    .name = "cuda layernorm_grad",
    .claim = layernorm_grad_claim,
    .run = layernorm_grad_run,
    .state_size = sizeof(norm_grad_state),
};
