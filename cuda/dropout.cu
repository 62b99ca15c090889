/*
 * dropout, dropout2d and drop_path, and their gradients, which are the same ops on dy.
 * Masks are the reference's, bit for bit, and never stored (ops/dropout_formula.h).
 * Bytes: x and y once.
 */
#include "ops/dropout.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout_formula.h"
#include "ops/image.h"

enum { BLOCK = 256 };

/* What the factor of an element depends on. */
struct rule {
    const struct control *control;
    uint32_t salt;
    float rate;
    int64_t sample;   /* elements of a sample */
    int64_t channels; /* of an image, for dropout2d */
};

/* Eight elements a thread: two Philox blocks, or 16 or 32 bytes. */
enum { EACH = 8 };

template <class T>
__global__ void __launch_bounds__(BLOCK) dropout_each(const T *x, T *y, int64_t n, rule r)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * EACH;
    uint64_t seed = r.control->seed, micro = (uint64_t)r.control->micro;
    float factor[EACH];

    for (int b = 0; b < EACH / 4; b++) {
        struct philox p = dropout_block(seed, micro, r.salt, (uint64_t)(i / 4 + b));

        for (int k = 0; k < 4; k++)
            factor[4 * b + k] = dropout_factor(p.v[k], r.rate);
    }
    if (i + EACH <= n) {
        for (int at = 0; at < EACH; at += vec<T>::N) {
            vec<T> a = vec_load(x + i + at);

            for (int k = 0; k < vec<T>::N; k++)
                a.set(k, a.get(k) * factor[at + k]);
            vec_store(y + i + at, a);
        }
        return;
    }
    for (int k = 0; k < EACH && i + k < n; k++)
        y[i + k] = from_float<T>(to_float(x[i + k]) * factor[k]);
}

/* One sample a row of blocks; the factor is that of the sample. */
template <class T>
__global__ void __launch_bounds__(BLOCK) drop_path_each(const T *x, T *y, rule r)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, n = blockIdx.y;
    float factor = drop_path_factor(r.control->seed, (uint64_t)r.control->micro, r.salt,
                                    (uint64_t)n, r.rate);

    if (i < r.sample)
        y[n * r.sample + i] = from_float<T>(to_float(x[n * r.sample + i]) * factor);
}

/* A thread has a channel of a sample, so one Philox block, and walks over its pixels. */
enum { PIXELS = 16 };

template <class T>
__global__ void __launch_bounds__(BLOCK) dropout2d_each(const T *x, T *y, rule r)
{
    /* Pixels side by side in a block, or one pixel and several channels a thread. */
    int64_t wide = r.channels < BLOCK ? r.channels : (int64_t)BLOCK, per = BLOCK / wide;
    int64_t pixels = r.sample / r.channels, row = threadIdx.x / wide, n = blockIdx.y;

    if (row >= per)
        return;
    for (int64_t c = threadIdx.x % wide; c < r.channels; c += wide) {
        float factor = dropout2d_factor(r.control->seed, (uint64_t)r.control->micro,
                                        r.salt, (uint64_t)(n * r.channels + c), r.rate);

        for (int k = 0; k < PIXELS; k++) {
            int64_t p = ((int64_t)blockIdx.x * PIXELS + k) * per + row;
            int64_t i = n * r.sample + p * r.channels + c;

            if (p < pixels)
                y[i] = from_float<T>(to_float(x[i]) * factor);
        }
    }
}

static const char *dropout_claim(struct region *r, struct graph *, struct node *n,
                                 struct device *)
{
    if (n->op != &op_dropout && n->op != &op_dropout2d && n->op != &op_drop_path)
        return "not a dropout";
    if (n->in[DROPOUT_X]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_take(r, n);
    for (int i = 0; i < n->nin; i++)
        (void)region_read(r, n->in[i]);
    (void)region_write(r, n->out[0]);
    region_inplace(r, 0, DROPOUT_X);
    return nullptr;
}

template <class T>
static void dropout_launch(struct step *s, struct device *dev, const rule &r)
{
    const struct tensor *t = s->out_tensor[0];
    const T *x = (const T *)s->in[DROPOUT_X];
    T *y = (T *)s->out[0];
    int64_t n = tensor_len(t), per = r.channels < BLOCK ? BLOCK / r.channels : 1;
    unsigned samples = (unsigned)t->dim[0];

    if (s->node->op == &op_dropout)
        LAUNCH(dev, dropout_each<T>, cuda_blocks(n, BLOCK, EACH), BLOCK, 0, x, y, n, r);
    else if (s->node->op == &op_drop_path)
        LAUNCH(dev, drop_path_each<T>, dim3(cuda_blocks(r.sample, BLOCK, 1), samples),
               BLOCK, 0, x, y, r);
    else
        LAUNCH(dev, dropout2d_each<T>,
               dim3(cuda_blocks(r.sample / r.channels, (int)per, PIXELS), samples), BLOCK,
               0, x, y, r);
}

static void dropout_run(struct step *s, struct device *dev)
{
    const struct dropout_attrs *a = (const struct dropout_attrs *)s->node->attrs;
    const struct tensor *t = s->out_tensor[0];
    rule r = {(const struct control *)s->in[DROPOUT_CONTROL], (uint32_t)a->salt, a->rate,
              tensor_len(t) / t->dim[0], tensor_channels(t)};

    WITH_DTYPE(t->dtype, T, dropout_launch<T>(s, dev, r));
}

extern const struct kernel cuda_dropout = {
    .name = "cuda dropout",
    .claim = dropout_claim,
    .run = dropout_run,
};
