/* Layer norm: rows in registers, or read again (cuda/layernorm.h). */
#include "cuda/layernorm.h"

#include "cuda/kernels.h"

enum { BLOCK = LAYERNORM_BLOCK, WARP = 32 };
enum { FORWARD_BLOCKS = 8 }; /* of a multiprocessor; GRAD_BLOCKS of the gradient */

template <class T, int EACH, bool WIDE>
__global__ void __launch_bounds__(BLOCK)
    layernorm_rows(const T *x, const float *weight, const float *bias, T *y, float *mean_,
                   float *rstd_, layernorm_shape s)
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

/* Any row: a block each, one element at a time. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    layernorm_any(const T *x, const float *weight, const float *bias, T *y, float *mean_,
                  float *rstd_, layernorm_shape s)
{
    __shared__ float shared[BLOCK / WARP];

    for (int64_t row = blockIdx.x; row < s.rows; row += gridDim.x) {
        const T *from = x + row * s.channels;
        float sum = 0, squares = 0, mean, rstd;

        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK)
            sum += to_float(from[c]);
        mean = block_sum<BLOCK>(sum, shared) / (float)s.channels;
        for (int c = (int)threadIdx.x; c < s.channels; c += BLOCK) {
            float d = to_float(from[c]) - mean;

            squares += d * d;
        }
        rstd =
            layernorm_rstd(block_sum<BLOCK>(squares, shared) / (float)s.channels, s.eps);
        if (threadIdx.x == 0 && mean_)
            mean_[row] = mean;
        if (threadIdx.x == 0 && rstd_)
            rstd_[row] = rstd;
        for (int c = (int)threadIdx.x; c < s.channels && y; c += BLOCK)
            y[row * s.channels + c] = from_float<T>(
                layernorm_value(layernorm_xhat(to_float(from[c]), mean, rstd),
                                weight ? weight[c] : 1, bias ? bias[c] : 0));
    }
}

static const char *layernorm_claim(struct region *r, struct graph *, struct node *n,
                                   struct device *dev)
{
    struct tensor *x = n->in[LAYERNORM_X];

    if (n->op != &op_layernorm)
        return "not a layer norm";
    if (n->out[LAYERNORM_Y]->dtype != x->dtype)
        return "one type for x and y";

    *(layernorm_shape *)region_state(r) = layernorm_shape_of(x, n, dev, FORWARD_BLOCKS);
    region_take_alone(r, n);
    region_inplace(r, LAYERNORM_Y, LAYERNORM_X);
    return nullptr;
}

static void layernorm_run(struct step *s, struct device *dev)
{
    const layernorm_shape &p = *(const layernorm_shape *)s->state;
    bool affine = s->nin > LAYERNORM_WEIGHT;
    const float *weight = affine ? (const float *)s->in[LAYERNORM_WEIGHT] : nullptr;
    const float *bias = affine ? (const float *)s->in[LAYERNORM_BIAS] : nullptr;
    float *mean = (float *)s->out[LAYERNORM_MEAN],
          *rstd = (float *)s->out[LAYERNORM_RSTD];

    WITH_DTYPE(s->in_tensor[LAYERNORM_X]->dtype, T, {
        const T *x = (const T *)s->in[LAYERNORM_X];
        T *y = (T *)s->out[LAYERNORM_Y];

        if (p.each)
            WITH_EACH(p, EACH, WIDE, {
                LAUNCH(dev, (layernorm_rows<T, EACH, WIDE>), (unsigned)p.blocks, BLOCK, 0,
                       x, weight, bias, y, mean, rstd, p);
            });
        else
            LAUNCH(dev, layernorm_any<T>, (unsigned)p.blocks, BLOCK, 0, x, weight, bias,
                   y, mean, rstd, p);
    });
}

extern const struct kernel cuda_layernorm = {
    .name = "cuda layernorm",
    .claim = layernorm_claim,
    .run = layernorm_run,
    .state_size = sizeof(layernorm_shape),
};
