/*
 * pad_shortcut and its gradient: a thread makes one pack of the result, zeros included.
 * Bytes: the result, and what of the input it takes.
 */
#include "ops/pad_shortcut.h"

#include "cuda/channels.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/* Channels in packs; positions of x (wide, in_) and of what was taken (out_). */
struct shortcut {
    int64_t items;
    int in_c, out_c, before, in_h, in_w, out_h, out_w, stride;
};

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) shortcut_forward(const T *x, T *y, shortcut k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, at = i / k.out_c;
    int64_t row = at / k.out_w, image = row / k.out_h;
    int c = (int)(i % k.out_c) - k.before;
    pack<T, N> a = {};

    if (i >= k.items)
        return;
    if (c >= 0 && c < k.in_c) {
        int64_t h = row % k.out_h * k.stride, w = at % k.out_w * k.stride;

        a = pack_load<N>(x + (((image * k.in_h + h) * k.in_w + w) * k.in_c + c) * N);
    }
    pack_store<T, N>(y + i * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) shortcut_backward(const T *dy, T *dx, shortcut k)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, at = i / k.in_c;
    int64_t row = at / k.in_w, image = row / k.in_h, h = row % k.in_h, w = at % k.in_w;
    pack<T, N> a = {};

    if (i >= k.items)
        return;
    if (h % k.stride == 0 && w % k.stride == 0) {
        int64_t from = (image * k.out_h + h / k.stride) * k.out_w + w / k.stride;

        a = pack_load<N>(dy + (from * k.out_c + k.before + i % k.in_c) * N);
    }
    pack_store<T, N>(dx + i * N, a);
}

static const char *shortcut_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_pad_shortcut && n->op != &op_pad_shortcut_grad)
        return "not a pad_shortcut";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";

    region_take(r, n);
    (void)region_read(r, n->in[0]);
    (void)region_write(r, n->out[0]);
    return nullptr;
}

template <class T, int N>
static void shortcut_launch(const struct step *s, struct device *dev)
{
    const struct pad_shortcut_attrs *a =
        (const struct pad_shortcut_attrs *)s->node->attrs;
    bool grad = s->node->op == &op_pad_shortcut_grad;
    const struct tensor *y = grad ? s->in_tensor[0] : s->out_tensor[0];
    shortcut k = {.items = tensor_len(s->out_tensor[0]) / N,
                  .in_c = a->in_c / N,
                  .out_c = a->out / N,
                  .before = a->before / N,
                  .in_h = a->in_h,
                  .in_w = a->in_w,
                  .out_h = (int)y->dim[2],
                  .out_w = (int)y->dim[3],
                  .stride = a->stride};
    unsigned grid = cuda_blocks(k.items, BLOCK, 1);

    if (grad)
        LAUNCH(dev, (shortcut_backward<T, N>), grid, BLOCK, 0, (const T *)s->in[0],
               (T *)s->out[0], k);
    else
        LAUNCH(dev, (shortcut_forward<T, N>), grid, BLOCK, 0, (const T *)s->in[0],
               (T *)s->out[0], k);
}

static void shortcut_run(struct step *s, struct device *dev)
{
    const struct pad_shortcut_attrs *a =
        (const struct pad_shortcut_attrs *)s->node->attrs;
    int any = a->in_c | a->out | a->before; /* a power of two divides all or not this */

    WITH_DTYPE(s->out_tensor[0]->dtype, T,
               WITH_PACK(T, any, N, shortcut_launch<T, N>(s, dev)));
}

extern const struct kernel cuda_pad_shortcut = {
    .name = "cuda pad_shortcut",
    .claim = shortcut_claim,
    .run = shortcut_run,
};
