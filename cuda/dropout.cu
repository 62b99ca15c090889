/*
 * dropout, dropout2d, drop_path, and their gradients, which are the same ops on dy: read
 * x and write y once. Masks are drawn from the control tensor (ops/dropout_formula.h) and
 * equal the reference's bit for bit.
 *
 * A block works on one sample. The sample's factor (drop_path) or its channels' factors
 * (dropout2d, in shared memory) are drawn once; dropout draws four elements at a time.
 */
#include "ops/dropout.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout_formula.h"
#include "ops/image.h"

enum { BLOCK = 256, ROUNDS = 4, MAX_CHANNELS = 8192 };

struct dropout_mask {
    const struct control *control;
    uint32_t salt;
    float rate;
    struct share share;
};

static const char *dropout_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_dropout && n->op != &op_dropout2d && n->op != &op_drop_path)
        return "no dropout";
    if (n->in[DROPOUT_X]->dtype != n->out[0]->dtype)
        return "one type for all";
    if (n->op == &op_dropout2d && n->out[0]->dim[IMAGE_C] > MAX_CHANNELS)
        return "more than 8192 channels";

    region_claim(r, n);
    (void)region_read(r, n->in[DROPOUT_X]);
    (void)region_read(r, n->in[DROPOUT_CONTROL]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, DROPOUT_X);
    return nullptr;
}

/* Factors of four elements from i on if the batch is one of several; `image`: elements
 * per image. */
__device__ static inline void shared_factors(const dropout_mask &m, uint64_t seed,
                                             uint64_t micro, int64_t i, int64_t image,
                                             float *factor)
{
    if (image % 4 == 0) {
        int64_t pos = share_element(m.share, i, image);
        struct philox r = dropout_block(seed, micro, m.salt, (uint64_t)pos / 4);

        for (int j = 0; j < 4; j++)
            factor[j] = dropout_factor(r.v[j], m.rate);
        return;
    }
    for (int j = 0; j < 4; j++) { /* as dropout2d does for channels */
        int64_t pos = share_element(m.share, i + j, image);

        factor[j] = dropout2d_factor(seed, micro, m.salt, (uint64_t)pos, m.rate);
    }
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    dropout_each(const T *x, T *y, int64_t n, int64_t image, dropout_mask m)
{
    constexpr int N = vec<T>::N;
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * N;
    uint64_t seed = m.control->seed, micro = (uint64_t)m.control->micro;
    float factor[N];

    for (int k = 0; k < N && i + k < n; k += 4) {
        if (m.share.every > 1) {
            shared_factors(m, seed, micro, i + k, image, factor + k);
            continue;
        }

        struct philox r = dropout_block(seed, micro, m.salt, (uint64_t)(i + k) / 4);

        for (int j = 0; j < 4; j++)
            factor[k + j] = dropout_factor(r.v[j], m.rate);
    }
    if (i + N <= n) {
        vec<T> a = vec_load(x + i);

        for (int k = 0; k < N; k++)
            a.set(k, a.get(k) * factor[k]);
        vec_store(y + i, a);
        return;
    }
    for (int k = 0; i + k < n; k++)
        y[i + k] = from_float<T>(to_float(x[i + k]) * factor[k]);
}

/* Work distribution: `chunks` blocks for each sample of `len` elements. */
struct samples {
    int64_t len;
    int chunks, chunk; /* chunk: elements per chunk */
    int channels;      /* with their own factors; 0: one factor per sample */
};

/*
 * Scales the block's chunk of its sample, N elements at a time; N divides the chunk and
 * the channels. `factor` has one number, or one per channel.
 */
template <class T, int N>
__device__ static inline void scale_chunk(const T *x, T *y, const samples &s,
                                          const float *factor)
{
    int64_t sample = blockIdx.x / (unsigned)s.chunks;
    int64_t pos = (int64_t)(blockIdx.x % (unsigned)s.chunks) * s.chunk;
    int left = (int)(s.len - pos < s.chunk ? s.len - pos : s.chunk);
    int channel = s.channels ? (int)(pos % s.channels) : 0;

    x += sample * s.len + pos;
    y += sample * s.len + pos;
    for (int i = (int)threadIdx.x * N; i < left; i += BLOCK * N) {
        pack<T, N> a = pack_load<N>(x + i);
        int c = s.channels ? (channel + i) % s.channels : 0;

        for (int k = 0; k < N; k++)
            a.set(k, a.get(k) * factor[s.channels ? c + k : 0]);
        pack_store<T, N>(y + i, a);
    }
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    drop_samples(const T *x, T *y, samples s, dropout_mask m)
{
    int64_t sample = blockIdx.x / (unsigned)s.chunks;
    float factor = drop_path_factor(m.control->seed, (uint64_t)m.control->micro, m.salt,
                                    (uint64_t)share_image(m.share, sample), m.rate);

    scale_chunk<T, N>(x, y, s, &factor);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    drop_channels(const T *x, T *y, samples s, dropout_mask m)
{
    SHARED_BYTES(bytes);
    float *factor = reinterpret_cast<float *>(bytes);
    int64_t sample = blockIdx.x / (unsigned)s.chunks;
    int64_t first = share_image(m.share, sample) * s.channels;
    uint64_t seed = m.control->seed, micro = (uint64_t)m.control->micro;

    /* dropout2d_factor() of all channels; one Philox block serves four */
    for (int64_t b = first / 4 + threadIdx.x; b * 4 < first + s.channels; b += BLOCK) {
        struct philox r = dropout_block(seed, micro, m.salt, (uint64_t)b);

        for (int j = 0; j < 4; j++) {
            int64_t c = b * 4 + j - first;

            if (c >= 0 && c < s.channels)
                factor[c] = dropout_factor(r.v[j], m.rate);
        }
    }
    __syncthreads();
    scale_chunk<T, N>(x, y, s, factor);
}

template <class T, int N>
static void run_samples(struct step *s, struct device *dev, const dropout_mask &m)
{
    const struct tensor *t = s->out_tensor[0];
    const T *x = (const T *)s->in[DROPOUT_X];
    T *y = (T *)s->out[0];
    samples n = {};
    unsigned grid;

    n.len = tensor_len(t) / t->dim[0];
    n.chunk = BLOCK * ROUNDS * vec<T>::N;
    n.chunks = (int)((n.len + n.chunk - 1) / n.chunk);
    grid = (unsigned)(t->dim[0] * n.chunks);
    if (s->node->op == &op_drop_path) {
        LAUNCH(dev, (drop_samples<T, N>), grid, BLOCK, 0, x, y, n, m);
        return;
    }
    n.channels = (int)t->dim[IMAGE_C];
    LAUNCH(dev, (drop_channels<T, N>), grid, BLOCK, (size_t)n.channels * sizeof(float), x,
           y, n, m);
}

static void dropout_run(struct step *s, struct device *dev)
{
    const struct dropout_attrs *a = (const struct dropout_attrs *)s->node->attrs;
    const struct tensor *t = s->out_tensor[0];
    int64_t n = tensor_len(t);
    dropout_mask m = {(const struct control *)s->in[DROPOUT_CONTROL], (uint32_t)a->salt,
                      a->rate, a->share};
    int64_t row = s->node->op == &op_dropout2d ? t->dim[IMAGE_C] : n / t->dim[0];

    if (!n)
        return;
    WITH_DTYPE(t->dtype, T, {
        if (s->node->op == &op_dropout)
            LAUNCH(dev, dropout_each<T>, cuda_blocks(n, BLOCK, vec<T>::N), BLOCK, 0,
                   (const T *)s->in[DROPOUT_X], (T *)s->out[0], n, n / t->dim[0], m);
        else if (row % vec<T>::N == 0)
            run_samples<T, vec<T>::N>(s, dev, m);
        else
            run_samples<T, 1>(s, dev, m);
    });
}

extern const struct kernel cuda_dropout = {
    .name = "cuda dropout",
    .claim = dropout_claim,
    .run = dropout_run,
};
