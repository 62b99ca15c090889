/*
 * mix: mixup and CutMix. A first launch draws for each sample (fp64, one thread each); a
 * second one mixes pairs: samples i and N-1-i are partners, so both are read once and
 * written once, two accesses per element. With zeros after the channels (cuda/pad.h), a
 * thread mixes a whole pixel of both.
 */
#include "ops/mix.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/pad.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/mix_formula.h"

enum { BLOCK = 256, DRAW_BLOCK = 64, ROUNDS = 4, PADDED = 8 };

static const char *mix_claim(struct region *r, struct graph *g, struct node *n,
                             struct device *)
{
    if (n->op != &op_mix)
        return "not a mix";
    if (n->in[MIX_X]->dtype != n->out[MIX_Y]->dtype)
        return "one type for both images";
    if (tensor_len(n->in[MIX_X]) / n->in[MIX_X]->dim[IMAGE_N] > INT32_MAX)
        return "samples of more than 2^31 elements";

    region_claim(r, n);
    (void)region_read(r, n->in[MIX_X]);
    (void)region_read(r, n->in[MIX_CONTROL]);
    (void)cuda_write_stored(r, g, n->out[MIX_Y]);
    (void)region_write(r, n->out[MIX_LAM]);
    *(int64_t *)region_state(r) = cuda_stored_channels(g, n->out[MIX_Y]);
    if (*(int64_t *)region_state(r) == 0)
        region_inplace(r, MIX_Y, MIX_X); /* a thread reads both, then writes both */
    region_workspace(r, (size_t)n->in[MIX_X]->dim[IMAGE_N] * sizeof(struct mix_draw));
    return nullptr;
}

struct mix_dims {
    int samples, height, width, channels;
};

/* lam may be NULL. */
__global__ void __launch_bounds__(DRAW_BLOCK)
    draw_mixes(mix_rule rule, int mode, struct share share, mix_dims p, const control *c,
               struct mix_draw *draw, float *lam)
{
    int i = (int)(blockIdx.x * DRAW_BLOCK + threadIdx.x);

    if (i >= p.samples)
        return;
    draw[i] = mix_draw(&rule, c->seed, (uint64_t)c->micro, mix_drawer(mode, share, i, p.samples),
                       p.height, p.width);
    if (lam)
        lam[i] = draw[i].lam;
}

/* Row and column of element `pos` of a sample; advances to the following elements. */
struct walker {
    int h, w, c;

    __device__ walker(const mix_dims &p, int pos)
        : h(pos / p.channels / p.width), w(pos / p.channels % p.width),
          c(pos % p.channels)
    {
    }
    __device__ void next(const mix_dims &p)
    {
        if (++c < p.channels)
            return;
        c = 0;
        if (++w < p.width)
            return;
        w = 0;
        h++;
    }
};

/* Stores 16 bytes at once: nvcc splits packs of selected elements into four stores. */
template <class T, int N> __device__ static inline void store_whole(T *p, pack<T, N> a)
{
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(a) == sizeof(uint4)) {
        uint4 bits;

        memcpy(&bits, &a, sizeof(bits));
        __stwb(reinterpret_cast<uint4 *>(p), bits);
        return;
    }
#endif
    pack_store<T, N>(p, a);
}

/* `chunks` blocks for each pair; a thread mixes ROUNDS vectors. */
template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    mix_pairs(const T *x, T *y, mix_dims p, int chunks, const struct mix_draw *draw)
{
    int i = (int)blockIdx.x / chunks, j = p.samples - 1 - i;
    int len = p.height * p.width * p.channels;
    int64_t pos = (int64_t)((int)blockIdx.x % chunks) * BLOCK * ROUNDS * N;
    int64_t source = (int64_t)i * len, partner = (int64_t)j * len;
    struct mix_draw di = draw[i], dj = draw[j];

    for (int u = 0; u < ROUNDS; u++) {
        int64_t e = pos + (u * BLOCK + (int)threadIdx.x) * N;

        if (e >= len)
            return;

        pack<T, N> a = pack_load<N>(x + source + e), b = pack_load<N>(x + partner + e);
        walker k(p, (int)e);

        for (int m = 0; m < N; m++, k.next(p)) {
            float value = a.get(m), partner_value = b.get(m);

            a.set(m, mix_value(&di, k.h, k.w, value, partner_value));
            b.set(m, mix_value(&dj, k.h, k.w, partner_value, value));
        }
        store_whole<T, N>(y + source + e, a);
        if (i != j)
            store_whole<T, N>(y + partner + e, b);
    }
}

/* A thread mixes one pixel of a pair: reads `channels`, writes PADDED. */
template <class T>
__global__ void __launch_bounds__(BLOCK)
    mix_padded(const T *x, T *y, mix_dims p, int chunks, const struct mix_draw *draw)
{
    int i = (int)blockIdx.x / chunks, j = p.samples - 1 - i;
    int e = (int)blockIdx.x % chunks * BLOCK + (int)threadIdx.x;
    int64_t plane = (int64_t)p.height * p.width, source = i * plane + e;
    int64_t partner = j * plane + e;
    pack<T, PADDED> a, b;

    if (e >= plane)
        return;

    struct mix_draw di = draw[i], dj = draw[j];

    for (int c = 0; c < PADDED; c++) {
        float value = 0, partner_value = 0;

        if (c < p.channels) {
            value = to_float(x[source * p.channels + c]);
            partner_value = to_float(x[partner * p.channels + c]);
        }
        a.set(c, mix_value(&di, e / p.width, e % p.width, value, partner_value));
        b.set(c, mix_value(&dj, e / p.width, e % p.width, partner_value, value));
    }
    pack_store<T, PADDED>(y + source * PADDED, a);
    if (i != j)
        pack_store<T, PADDED>(y + partner * PADDED, b);
}

template <class T>
static void run_padded(struct step *s, struct device *dev, const mix_dims &p)
{
    int chunks = (int)cuda_blocks((int64_t)p.height * p.width, BLOCK, 1);
    int pairs = (p.samples + 1) / 2;

    LAUNCH(dev, mix_padded<T>, (unsigned)(pairs * chunks), BLOCK, 0,
           (const T *)s->in[MIX_X], (T *)s->out[MIX_Y], p, chunks,
           (const struct mix_draw *)s->workspace);
}

template <class T, int N>
static void run_pairs(struct step *s, struct device *dev, const mix_dims &p)
{
    int64_t len = (int64_t)p.height * p.width * p.channels;
    int chunks = (int)cuda_blocks(len, BLOCK, ROUNDS * N), pairs = (p.samples + 1) / 2;

    LAUNCH(dev, (mix_pairs<T, N>), (unsigned)(pairs * chunks), BLOCK, 0,
           (const T *)s->in[MIX_X], (T *)s->out[MIX_Y], p, chunks,
           (const struct mix_draw *)s->workspace);
}

static void mix_run(struct step *s, struct device *dev)
{
    const struct mix_attrs *a = (const struct mix_attrs *)s->node->attrs;
    const struct tensor *t = s->in_tensor[MIX_X];
    mix_rule rule = {a->mixup,      a->cutmix, a->cutmix_min,
                     a->cutmix_max, a->prob,   a->switch_prob};
    mix_dims p = {(int)t->dim[IMAGE_N], (int)t->dim[IMAGE_H], (int)t->dim[IMAGE_W],
                  (int)t->dim[IMAGE_C]};

    LAUNCH(dev, draw_mixes, cuda_blocks(p.samples, DRAW_BLOCK, 1), DRAW_BLOCK, 0, rule,
           a->mode, a->share, p, (const struct control *)s->in[MIX_CONTROL],
           (struct mix_draw *)s->workspace, (float *)s->out[MIX_LAM]);
    WITH_DTYPE(t->dtype, T, {
        if (*(const int64_t *)s->state)
            run_padded<T>(s, dev, p);
        else if (tensor_len(t) / t->dim[IMAGE_N] % vec<T>::N == 0)
            run_pairs<T, vec<T>::N>(s, dev, p);
        else
            run_pairs<T, 1>(s, dev, p);
    });
}

extern const struct kernel cuda_mix = {
    .name = "cuda mix",
    .claim = mix_claim,
    .run = mix_run,
    .state_size = sizeof(int64_t),
};
