/*
 * cast, and a view that must be a copy: reads and writes each element once, 6 bytes
 * between fp32 and a 16-bit type. A thread converts eight elements, so the narrower side
 * moves 16 bytes at once.
 */
#include "cuda/cast.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "cuda/pad.h"
#include "cuda/vec.h"
#include "graph/kernel.h"
#include "ops/cast.h"
#include "ops/view.h"

enum { BLOCK = 256, EACH = 8 };

/* Loads EACH elements from 16-byte aligned memory as floats. */
template <class T> HOST_DEVICE static inline void load_each(const T *p, float *v)
{
    for (int pos = 0; pos < EACH; pos += vec<T>::N) {
        vec<T> a = vec_load(p + pos);

        for (int k = 0; k < vec<T>::N; k++)
            v[pos + k] = a.get(k);
    }
}

template <class T> HOST_DEVICE static inline void store_each(T *p, const float *v)
{
    for (int pos = 0; pos < EACH; pos += vec<T>::N) {
        vec<T> a;

        for (int k = 0; k < vec<T>::N; k++)
            a.set(k, v[pos + k]);
        vec_store(p + pos, a);
    }
}

template <class S, class D>
__global__ void __launch_bounds__(BLOCK) cast_each(const S *src, D *dst, int64_t n)
{
    int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) * EACH;

    if (i + EACH <= n) {
        float v[EACH];

        load_each(src + i, v);
        store_each(dst + i, v);
        return;
    }
    for (; i < n; i++)
        dst[i] = from_float<D>(to_float(src[i]));
}

void cuda_cast(struct device *dev, void *dst, enum dtype dst_type, const void *src,
               enum dtype src_type, int64_t n)
{
    unsigned grid = cuda_blocks(n, BLOCK, EACH);

    if (n == 0)
        return;
    WITH_DTYPE(src_type, S, {
        WITH_DTYPE(dst_type, D, {
            LAUNCH(dev, (cast_each<S, D>), grid, BLOCK, 0, (const S *)src, (D *)dst, n);
        });
    });
}

__global__ void __launch_bounds__(BLOCK) scale_each(float *x, int64_t n, float factor)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i < n)
        x[i] *= factor;
}

void cuda_scale(struct device *dev, float *x, int64_t n, float factor)
{
    LAUNCH(dev, scale_each, cuda_blocks(n, BLOCK, 1), BLOCK, 0, x, n, factor);
}

static const char *cast_claim(struct region *r, struct graph *g, struct node *n,
                              struct device *)
{
    if (n->op != &op_cast && n->op != &op_view)
        return "not a cast, nor a view that is a copy";

    region_claim(r, n);
    (void)region_read(r, n->in[CAST_X]);
    *(int64_t *)region_state(r) = cuda_stored_channels(g, n->out[0]);
    (void)cuda_write_stored(r, g, n->out[0]);
    return nullptr;
}

static void cast_run(struct step *s, struct device *dev)
{
    const struct tensor *x = s->in_tensor[0], *y = s->out_tensor[0];
    int64_t stored = *(const int64_t *)s->state;

    if (stored)
        cuda_pad_channels(dev, s->out[0], y->dtype, stored, s->in[0], x->dtype, y->dim[1],
                          tensor_len(y) / y->dim[1]);
    else
        cuda_cast(dev, s->out[0], y->dtype, s->in[0], x->dtype, tensor_len(y));
}

extern const struct kernel cuda_cast_kernel = {
    .name = "cuda cast",
    .claim = cast_claim,
    .run = cast_run,
    .state_size = sizeof(int64_t),
};
