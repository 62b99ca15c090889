/*
 * mixup and CutMix: one thread draws for each sample what the reference draws
 * (ops/mix_formula.h; exp and log may differ from the host's in the last bit), then all
 * pixels are mixed. Bytes: each sample, its partner and y once; at batch 256 and 224 x
 * 224 in fp16 that is 231 MB, the partner coming from L2 at best.
 */
#include "ops/mix.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/image.h"
#include "ops/mix_formula.h"

enum { BLOCK = 256 };

struct picture {
    int64_t n;
    int h, w, c;
};

__global__ void __launch_bounds__(BLOCK)
    mix_draws(mix_rule rule, int mode, const struct control *control, picture p,
              struct mix_draw *draw, float *lam)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= p.n)
        return;
    draw[i] = ::mix_draw(&rule, control->seed, (uint64_t)control->micro,
                         mix_drawer(mode, i, p.n), p.h, p.w);
    if (lam)
        lam[i] = draw[i].lam;
}

/* A sample is a row of blocks; a thread has elements i, i + 1, ... of it. */
template <class T, int N>
__global__ void __launch_bounds__(BLOCK)
    mix_each(const T *x, const struct mix_draw *draw, T *y, picture p)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * N, n = blockIdx.y;
    int64_t len = (int64_t)p.h * p.w * p.c, row = (int64_t)p.w * p.c;
    const T *own = x + n * len, *partner = x + (p.n - 1 - n) * len;
    struct mix_draw d = draw[n];
    T out[N];

    if (i >= len)
        return;
    for (int k = 0; k < N; k++) {
        int64_t e = i + k;

        out[k] = from_float<T>(mix_value(&d, e / row, e % row / p.c, to_float(own[e]),
                                         to_float(partner[e])));
    }
    for (int k = 0; k < N; k++)
        y[n * len + i + k] = out[k];
}

static const char *mix_claim(struct region *r, struct graph *, struct node *n,
                             struct device *)
{
    if (n->op != &op_mix)
        return "not a mix";
    if (n->in[MIX_X]->dtype != n->out[MIX_Y]->dtype)
        return "one type for all";

    region_take(r, n);
    (void)region_read(r, n->in[MIX_X]);
    (void)region_read(r, n->in[MIX_CONTROL]);
    (void)region_write(r, n->out[MIX_Y]);
    (void)region_write(r, n->out[MIX_LAM]);
    region_workspace(r, (size_t)n->in[MIX_X]->dim[IMAGE_N] * sizeof(struct mix_draw));
    return nullptr;
}

static void mix_run(struct step *s, struct device *dev)
{
    const struct mix_attrs *a = (const struct mix_attrs *)s->node->attrs;
    const struct tensor *t = s->in_tensor[MIX_X];
    mix_rule rule = {a->mixup,      a->cutmix, a->cutmix_min,
                     a->cutmix_max, a->prob,   a->switch_prob};
    picture p = {t->dim[IMAGE_N], (int)t->dim[IMAGE_H], (int)t->dim[IMAGE_W],
                 (int)t->dim[IMAGE_C]};
    int64_t len = tensor_len(t) / p.n;
    struct mix_draw *draw = (struct mix_draw *)s->workspace;

    LAUNCH(dev, mix_draws, cuda_blocks(p.n, BLOCK, 1), BLOCK, 0, rule, a->mode,
           (const struct control *)s->in[MIX_CONTROL], p, draw, (float *)s->out[MIX_LAM]);
    if (!s->out[MIX_Y])
        return;
    WITH_DTYPE(t->dtype, T, {
        const T *x = (const T *)s->in[MIX_X];
        T *y = (T *)s->out[MIX_Y];

        if (len % 8 == 0)
            LAUNCH(dev, (mix_each<T, 8>), dim3(cuda_blocks(len, BLOCK, 8), (unsigned)p.n),
                   BLOCK, 0, x, draw, y, p);
        else
            LAUNCH(dev, (mix_each<T, 1>), dim3(cuda_blocks(len, BLOCK, 1), (unsigned)p.n),
                   BLOCK, 0, x, draw, y, p);
    });
}

extern const struct kernel cuda_mix = {
    .name = "cuda mix",
    .claim = mix_claim,
    .run = mix_run,
};
