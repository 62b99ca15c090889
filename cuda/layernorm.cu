/*
 * Layer norm: keeps rows in registers, or reads them again (cuda/layernorm.h). The input
 * may be a residual sum (cuda/residual.h): it is computed here, and written if it has
 * other readers. An fp32 norm stores its result in 16 bits if all readers use 16 bits; then
 * the branch of its sum has 16 bits, too. Each step rounds to its type before the next, so
 * fused and separate kernels return the same bits.
 */
#include "cuda/layernorm.h"

#include "cuda/kernels.h"
#include "ops/cast.h"

enum { BLOCK = LAYERNORM_BLOCK, WARP = 32 };
/* Blocks per multiprocessor (GRAD_BLOCKS for the gradient). With a residual sum, whole
 * rounds of the 2 to 4 that fit at once. */
enum { FORWARD_BLOCKS = 8, SUM_BLOCKS = 12 };

/* A residual sum: a branch of type H, times gamma and mask, plus `other`, or no sum if that
 * is NULL. The sum may overwrite `other` or the branch, and y the remaining one. */
template <class T, class H> struct addend {
    const H *branch;
    const T *other;
    T *sum;             /* may be NULL */
    const float *gamma; /* may be NULL */
    path_mask mask;
};

/* A factor of the branch; rounds to its type like layer_scale.cu and dropout.cu. */
template <class H> __device__ static inline float scale_branch(float branch, float factor)
{
    return to_float(from_float<H>(branch * factor));
}

template <class T, class H, int EACH>
__device__ static inline void add_row(row_slice<T, EACH> &a, const addend<T, H> &r,
                                      int64_t row, int lane, const layernorm_shape &s)
{
    constexpr int N = vec<T>::N;
    int64_t pos = row * s.channels;
    row_slice<T, EACH> other;
    pack<H, N> branch[EACH];
    float factor;

    row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
        branch[i] = pack_load<N>(r.branch + pos + c);
    });
    other.load(r.other + pos, lane, s);
    if (r.gamma)
        row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
            float gamma[N];

            table_load<N>(r.gamma + c, gamma);
            for (int k = 0; k < N; k++)
                branch[i].set(k, branch[i].get(k) * gamma[k]); /* rounds */
        });
    factor = path_factor(r.mask, row);
    row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
        for (int k = 0; k < N; k++)
            a.v[i].set(k, __fadd_rn(scale_branch<H>(branch[i].get(k), factor),
                                    other.v[i].get(k)));
        if (r.sum)
            vec_store(r.sum + pos + c, a.v[i]);
    });
}

/* ADDED: x is a sum, except that a norm rounded from fp32 (H is not T) may have none: that
 * has registers to spare, so one instance does both. The bound (0: none) keeps three blocks
 * of sums on a multiprocessor, at the price of 28 bytes of spills in 16 bits. */
template <class T, class H, int EACH, bool WIDE, bool ADDED>
__global__ void __launch_bounds__(BLOCK, ADDED && EACH == 3 ? 3 : 0)
    layernorm_rows(const T *x, const float *weight, const float *bias, H *y, float *mean_,
                   float *rstd_, addend<T, H> r, layernorm_shape s)
{
    constexpr int N = vec<T>::N;
    using row_part = row_slice<T, EACH>;
    __shared__ float shared[BLOCK / WARP];
    int lane = (int)threadIdx.x % s.lanes, per_block = BLOCK / s.lanes;
    int64_t first = (int64_t)blockIdx.x * per_block;

    for (; first < s.rows; first += (int64_t)gridDim.x * per_block) {
        int64_t row = first + (int)threadIdx.x / s.lanes;
        bool row_valid = row < s.rows;
        float sum = 0, squares = 0, mean, rstd;
        row_part a;

        if (ADDED && row_valid && (sizeof(T) == sizeof(H) || r.other))
            add_row(a, r, row, lane, s);
        else if (row_valid)
            a.load(x + row * s.channels, lane, s);
        if (row_valid)
            row_part::each(lane, s, [&](int i, int) {
                for (int k = 0; k < N; k++)
                    sum += a.v[i].get(k);
            });
        mean = lanes_sum<WIDE>(sum, s.lanes, shared) / (float)s.channels;
        if (row_valid)
            row_part::each(lane, s, [&](int i, int) {
                for (int k = 0; k < N; k++) {
                    float d = a.v[i].get(k) - mean;

                    squares += d * d;
                }
            });
        rstd = layernorm_rstd(
            lanes_sum<WIDE>(squares, s.lanes, shared) / (float)s.channels, s.eps);
        if (!row_valid)
            continue;
        if (lane == 0 && mean_)
            mean_[row] = mean;
        if (lane == 0 && rstd_)
            rstd_[row] = rstd;
        if (y)
            row_part::each(lane, s, [&](int i, int c) {
                float w[N], b[N];
                pack<H, N> out;

                weights_load<N>(weight, c, 1, w);
                weights_load<N>(bias, c, 0, b);
                for (int k = 0; k < N; k++)
                    out.set(k, layernorm_value(layernorm_xhat(a.v[i].get(k), mean, rstd),
                                               w[k], b[k]));
                pack_store(y + row * s.channels + c, out);
            });
    }
}

/* Any row: one block per row, one element at a time. */
template <class T, class H>
__global__ void __launch_bounds__(BLOCK)
    layernorm_any(const T *x, const float *weight, const float *bias, H *y, float *mean_,
                  float *rstd_, addend<T, H> r, layernorm_shape s)
{
    __shared__ float shared[BLOCK / WARP];

    for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
        int64_t pos = row * s.channels;
        float sum = 0, squares = 0, mean, rstd, factor = path_factor(r.mask, row);
        auto value = [&](int c) { /* rounded as it is stored */
            float b;

            if (!r.other)
                return x[pos + c];
            b = to_float(r.branch[pos + c]);
            if (r.gamma)
                b = scale_branch<H>(b, r.gamma[c]);
            return from_float<T>(
                __fadd_rn(scale_branch<H>(b, factor), to_float(r.other[pos + c])));
        };

        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK)
            sum += to_float(value(c));
        mean = block_sum<BLOCK>(sum, shared) / (float)s.channels;
        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
            float d = to_float(value(c)) - mean;

            squares += d * d;
        }
        rstd =
            layernorm_rstd(block_sum<BLOCK>(squares, shared) / (float)s.channels, s.eps);
        if (threadIdx.x == 0 && mean_)
            mean_[row] = mean;
        if (threadIdx.x == 0 && rstd_)
            rstd_[row] = rstd;
        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
            T v = value(c);

            if (r.sum)
                r.sum[pos + c] = v;
            if (y)
                y[pos + c] = from_float<H>(
                    layernorm_value(layernorm_xhat(to_float(v), mean, rstd),
                                    weight ? weight[c] : 1, bias ? bias[c] : 0));
        }
    }
}

struct layernorm_state {
    layernorm_shape shape;
    bool affine, added;
    bool rounded;            /* x is fp32, y has 16 bits */
    residual_reads read;     /* if added */
    int sum;                 /* index of a write, if added */
    const struct node *drop; /* may be NULL */
    int64_t sample_rows;
};

/* Returns the layer norm whose fp32 result only this cast to 16 bits reads, or NULL. */
static struct node *rounded_norm(const struct graph *g, const struct node *cast,
                                 const struct device *dev)
{
    struct node *norm = residual_is_round(g, cast, dev)
                            ? sole_producer(g, cast->in[CAST_X], &op_layernorm)
                            : nullptr;

    return norm && norm->phase == cast->phase ? norm : nullptr;
}

static const char *layernorm_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    layernorm_state *st = (layernorm_state *)region_state(r);
    struct node *norm = n->op == &op_layernorm ? n : rounded_norm(g, n, dev);
    struct tensor *x, *y = n->out[0];
    residual f;

    if (!norm)
        return "not a layer norm";
    x = norm->in[LAYERNORM_X];
    if (norm->out[LAYERNORM_Y]->dtype != x->dtype)
        return "one type for x and y";

    st->added = residual_before(&f, g, norm, y->dtype, dev);
    st->shape =
        layernorm_shape_of(x, norm, dev, st->added ? SUM_BLOCKS : FORWARD_BLOCKS);
    st->affine = norm->nin > LAYERNORM_WEIGHT;
    region_claim(r, norm);
    st->rounded = norm != n;
    if (st->rounded)
        region_claim(r, n);
    (void)region_read(r, st->added ? f.branch : x);
    for (int i = LAYERNORM_WEIGHT; i < norm->nin; i++)
        (void)region_read(r, norm->in[i]);
    for (int i = 0; i < norm->nout; i++)
        (void)region_write(r, i == LAYERNORM_Y ? y : norm->out[i]);
    if (st->added) {
        st->read = residual_claim(r, &f);
        st->drop = f.drop;
        st->sample_rows = f.rows;
        st->sum = region_write(r, f.add->out[0]);
        region_inplace(r, st->sum, st->rounded ? st->read.other : LAYERNORM_X);
        region_inplace(r, LAYERNORM_Y, st->rounded ? LAYERNORM_X : st->read.other);
    } else if (!st->rounded) {
        region_inplace(r, LAYERNORM_Y, LAYERNORM_X);
    }
    return nullptr;
}

template <class T, class H, bool ADDED>
static void run_norm(struct step *s, struct device *dev)
{
    const layernorm_state *st = (const layernorm_state *)s->state;
    const layernorm_shape &p = st->shape;
    const float *weight = st->affine ? (const float *)s->in[LAYERNORM_WEIGHT] : nullptr;
    const float *bias = st->affine ? (const float *)s->in[LAYERNORM_BIAS] : nullptr;
    float *mean = (float *)s->out[LAYERNORM_MEAN],
          *rstd = (float *)s->out[LAYERNORM_RSTD];
    const T *x = st->added ? nullptr : (const T *)s->in[LAYERNORM_X];
    H *y = (H *)s->out[LAYERNORM_Y];
    addend<T, H> r = {};

    if (st->added) {
        const residual_reads &read = st->read;

        r.branch = (const H *)s->in[LAYERNORM_X];
        r.other = (const T *)s->in[read.other];
        r.sum = (T *)s->out[st->sum];
        r.gamma = read.gamma < 0 ? nullptr : (const float *)s->in[read.gamma];
        r.mask = path_mask_of(st->drop, st->sample_rows,
                              st->drop ? s->in[read.control] : nullptr);
    }
    if (p.each)
        WITH_EACH(p, EACH, WIDE, {
            LAUNCH(dev, (layernorm_rows<T, H, EACH, WIDE, ADDED>), (unsigned)p.blocks,
                   BLOCK, 0, x, weight, bias, y, mean, rstd, r, p);
        });
    else
        LAUNCH(dev, (layernorm_any<T, H>), (unsigned)p.blocks, BLOCK, 0, x, weight, bias,
               y, mean, rstd, r, p);
}

static void layernorm_run(struct step *s, struct device *dev)
{
    const layernorm_state *st = (const layernorm_state *)s->state;
    enum dtype type = s->node->out[0]->dtype;

    if (st->rounded)
        WITH_HALF(type, H, (run_norm<float, H, true>(s, dev)));
    else if (st->added)
        WITH_DTYPE(type, T, (run_norm<T, T, true>(s, dev)));
    else
        WITH_DTYPE(type, T, (run_norm<T, T, false>(s, dev)));
}

extern const struct kernel cuda_layernorm = {
    .name = "cuda layernorm",
    .claim = layernorm_claim,
    .run = layernorm_run,
    .state_size = sizeof(layernorm_state),
};
