/*
 * Layer norm: keeps rows in registers, or reads them again (cuda/layernorm.h). The input
 * may be a residual sum (cuda/residual.h): it is computed here, and written if it has
 * other readers. The sum is rounded to its type before it is normalized, so the bits are
 * those of separate kernels.
 */
#include "cuda/layernorm.h"

#include "cuda/kernels.h"

enum { BLOCK = LAYERNORM_BLOCK, WARP = 32 };
/* Blocks per multiprocessor (GRAD_BLOCKS for the gradient). With a residual sum, whole
 * rounds of the 2 to 4 that fit at once. */
enum { FORWARD_BLOCKS = 8, SUM_BLOCKS = 12 };

/* The term added to x, a branch with this mask; other NULL: none. The sum may be written
 * over x, and y over `other`. */
template <class T> struct addend {
    const T *other;
    T *sum; /* may be NULL */
    path_mask mask;
};

/* Rounds like dropout.cu and add.cu: the product and the sum are not contracted. */
template <class T>
__device__ static inline float residual_sum(T x, T other, float factor)
{
    return __fadd_rn(to_float(from_float<T>(to_float(x) * factor)), to_float(other));
}

template <class T, int EACH>
__device__ static inline void add_row(row_slice<T, EACH> &a, const addend<T> &r,
                                      int64_t row, int lane, const layernorm_shape &s)
{
    row_slice<T, EACH> b;
    float factor;

    b.load(r.other + row * s.channels, lane, s);
    factor = path_factor(r.mask, row);
    row_slice<T, EACH>::each(lane, s, [&](int i, int c) {
        for (int k = 0; k < vec<T>::N; k++)
            a.v[i].set(k, residual_sum(a.v[i].v[k], b.v[i].v[k], factor));
        if (r.sum)
            vec_store(r.sum + row * s.channels + c, a.v[i]);
    });
}

template <class T, int EACH, bool WIDE, bool ADDED>
__global__ void __launch_bounds__(BLOCK)
    layernorm_rows(const T *x, const float *weight, const float *bias, T *y, float *mean_,
                   float *rstd_, addend<T> r, layernorm_shape s)
{
    constexpr int N = vec<T>::N;
    using row_part = row_slice<T, EACH>;
    __shared__ float shared[BLOCK / WARP];
    int lane = (int)threadIdx.x % s.lanes, per_block = BLOCK / s.lanes;
    int64_t first = (int64_t)blockIdx.x * per_block;

    for (; first < s.rows; first += (int64_t)gridDim.x * per_block) {
        int64_t row = first + (int)threadIdx.x / s.lanes;
        bool on = row < s.rows;
        float sum = 0, squares = 0, mean, rstd;
        row_part a;

        if (on)
            a.load(x + row * s.channels, lane, s);
        if (ADDED && on)
            add_row(a, r, row, lane, s);
        if (on)
            row_part::each(lane, s, [&](int i, int) {
                for (int k = 0; k < N; k++)
                    sum += a.v[i].get(k);
            });
        mean = lanes_sum<WIDE>(sum, s.lanes, shared) / (float)s.channels;
        if (on)
            row_part::each(lane, s, [&](int i, int) {
                for (int k = 0; k < N; k++) {
                    float d = a.v[i].get(k) - mean;

                    squares += d * d;
                }
            });
        rstd = layernorm_rstd(
            lanes_sum<WIDE>(squares, s.lanes, shared) / (float)s.channels, s.eps);
        if (!on)
            continue;
        if (lane == 0 && mean_)
            mean_[row] = mean;
        if (lane == 0 && rstd_)
            rstd_[row] = rstd;
        if (y)
            row_part::each(lane, s, [&](int i, int c) {
                float w[N], b[N];

                weights_load<N>(weight, c, 1, w);
                weights_load<N>(bias, c, 0, b);
                for (int k = 0; k < N; k++)
                    a.v[i].set(k,
                               layernorm_value(layernorm_xhat(a.v[i].get(k), mean, rstd),
                                               w[k], b[k]));
                vec_store(y + row * s.channels + c, a.v[i]);
            });
    }
}

/* Any row: one block per row, one element at a time. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    layernorm_any(const T *x, const float *weight, const float *bias, T *y, float *mean_,
                  float *rstd_, addend<T> r, layernorm_shape s)
{
    __shared__ float shared[BLOCK / WARP];

    for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
        int64_t pos = row * s.channels;
        float sum = 0, squares = 0, mean, rstd, factor = path_factor(r.mask, row);
        auto value = [&](int c) { /* rounded as it is stored */
                                  return r.other
                                             ? from_float<T>(residual_sum(
                                                   x[pos + c], r.other[pos + c], factor))
                                             : x[pos + c];
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
                y[pos + c] = from_float<T>(
                    layernorm_value(layernorm_xhat(to_float(v), mean, rstd),
                                    weight ? weight[c] : 1, bias ? bias[c] : 0));
        }
    }
}

struct layernorm_state {
    layernorm_shape shape;
    bool added;
    int other, sum;          /* indices of a read and a write, if added */
    const struct node *drop; /* may be NULL */
    int control;             /* index of a read, with drop */
    int64_t sample_rows;
};

/* Appends to the norm's reads and writes; its first read becomes the branch. */
static void claim_sum(struct region *r, layernorm_state *st, const residual &f)
{
    st->added = true;
    st->other = region_read(r, f.other);
    region_claim(r, f.add);
    if (f.drop) {
        region_claim(r, f.drop);
        st->control = region_read(r, f.drop->in[DROPOUT_CONTROL]);
    }
    st->drop = f.drop;
    st->sample_rows = f.rows;
    st->sum = region_write(r, f.add->out[0]);
    region_inplace(r, st->sum, LAYERNORM_X);
    region_inplace(r, LAYERNORM_Y, st->other);
}

static const char *layernorm_claim(struct region *r, struct graph *g, struct node *n,
                                   struct device *dev)
{
    layernorm_state *st = (layernorm_state *)region_state(r);
    struct tensor *x = n->in[LAYERNORM_X];
    residual f;
    bool added;

    if (n->op != &op_layernorm)
        return "not a layer norm";
    if (n->out[LAYERNORM_Y]->dtype != x->dtype)
        return "one type for x and y";

    added = residual_before(&f, g, n, dev);
    st->shape = layernorm_shape_of(x, n, dev, added ? SUM_BLOCKS : FORWARD_BLOCKS);
    if (!added) {
        region_claim_node(r, n);
        region_inplace(r, LAYERNORM_Y, LAYERNORM_X);
        return nullptr;
    }
    region_claim(r, n);
    (void)region_read(r, f.branch);
    for (int i = LAYERNORM_WEIGHT; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    for (int i = 0; i < n->nout; i++)
        (void)region_write(r, n->out[i]);
    claim_sum(r, st, f);
    return nullptr;
}

template <class T, bool ADDED>
static void run_norm(struct step *s, struct device *dev, const addend<T> &r)
{
    const layernorm_shape &p = ((const layernorm_state *)s->state)->shape;
    bool affine = s->node->nin > LAYERNORM_WEIGHT;
    const float *weight = affine ? (const float *)s->in[LAYERNORM_WEIGHT] : nullptr;
    const float *bias = affine ? (const float *)s->in[LAYERNORM_BIAS] : nullptr;
    float *mean = (float *)s->out[LAYERNORM_MEAN],
          *rstd = (float *)s->out[LAYERNORM_RSTD];
    const T *x = (const T *)s->in[LAYERNORM_X];
    T *y = (T *)s->out[LAYERNORM_Y];

    if (p.each)
        WITH_EACH(p, EACH, WIDE, {
            LAUNCH(dev, (layernorm_rows<T, EACH, WIDE, ADDED>), (unsigned)p.blocks, BLOCK,
                   0, x, weight, bias, y, mean, rstd, r, p);
        });
    else
        LAUNCH(dev, layernorm_any<T>, (unsigned)p.blocks, BLOCK, 0, x, weight, bias, y,
               mean, rstd, r, p);
}

static void layernorm_run(struct step *s, struct device *dev)
{
    const layernorm_state *st = (const layernorm_state *)s->state;

    WITH_DTYPE(s->in_tensor[LAYERNORM_X]->dtype, T, {
        addend<T> r = {};

        if (st->added) {
            r.other = (const T *)s->in[st->other];
            r.sum = (T *)s->out[st->sum];
            r.mask = path_mask_of(st->drop, st->sample_rows,
                                  st->drop ? s->in[st->control] : nullptr);
            run_norm<T, true>(s, dev, r);
        } else {
            run_norm<T, false>(s, dev, r);
        }
    });
}

extern const struct kernel cuda_layernorm = {
    .name = "cuda layernorm",
    .claim = layernorm_claim,
    .run = layernorm_run,
    .state_size = sizeof(layernorm_state),
};
