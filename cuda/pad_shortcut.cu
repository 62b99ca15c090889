/*
 * pad_shortcut and its gradient: a thread writes one pack of the result, including zeros.
 * Bytes: the result, and the elements of the input that it uses.
 */
#include "ops/pad_shortcut.h"

#include "cuda/channels.h"
#include "cuda/divide.h"
#include "cuda/kernels.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

/*
 * Channels in packs; positions of x (in_) and of the result (out_). A block computes a
 * part of one image, so dividends fit 32 bits.
 */
struct shortcut {
    int items, others; /* packs per image of the result, of the input */
    int in_c, out_c, before, in_w, out_w;
    divider chunks, channels, width, stride; /* chunks: blocks per image */
};

/* The block's image and the thread's pack in it: the c-th at (h, w). */
struct item {
    unsigned image, i, h, w, c;
};

__device__ static inline item item_of(const shortcut &k)
{
    unsigned image = divide(k.chunks, blockIdx.x);
    unsigned i = (blockIdx.x - image * k.chunks.divisor) * BLOCK + threadIdx.x;
    unsigned pos = divide(k.channels, i), h = divide(k.width, pos);

    return {image, i, h, pos - h * k.width.divisor, i - pos * k.channels.divisor};
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) shortcut_forward(const T *x, T *y, shortcut k)
{
    item o = item_of(k);
    int c = (int)o.c - k.before, stride = (int)k.stride.divisor;
    pack<T, N> a = {};

    if ((int)o.i >= k.items)
        return;
    if (c >= 0 && c < k.in_c) {
        int pos = ((int)o.h * stride * k.in_w + (int)o.w * stride) * k.in_c + c;

        a = pack_load<N>(x + ((int64_t)o.image * k.others + pos) * N);
    }
    pack_store<T, N>(y + ((int64_t)o.image * k.items + o.i) * N, a);
}

template <class T, int N>
__global__ void __launch_bounds__(BLOCK) shortcut_backward(const T *dy, T *dx, shortcut k)
{
    item o = item_of(k);
    unsigned h = divide(k.stride, o.h), w = divide(k.stride, o.w);
    pack<T, N> a = {};

    if ((int)o.i >= k.items)
        return;
    if (h * k.stride.divisor == o.h && w * k.stride.divisor == o.w) {
        int pos = ((int)h * k.out_w + (int)w) * k.out_c + k.before + (int)o.c;

        a = pack_load<N>(dy + ((int64_t)o.image * k.others + pos) * N);
    }
    pack_store<T, N>(dx + ((int64_t)o.image * k.items + o.i) * N, a);
}

static const char *shortcut_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_pad_shortcut && n->op != &op_pad_shortcut_grad)
        return "not a pad_shortcut";
    if (n->in[0]->dtype != n->out[0]->dtype)
        return "one type for all";
    if (tensor_len(n->in[0]) / n->in[0]->dim[0] > INT32_MAX ||
        tensor_len(n->out[0]) / n->out[0]->dim[0] > INT32_MAX)
        return "samples of more than 2^31 elements";

    region_claim(r, n);
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
    const struct tensor *dst = s->out_tensor[0], *src = s->in_tensor[0];
    int64_t items = tensor_len(dst) / N / dst->dim[0];
    unsigned chunks = cuda_blocks(items, BLOCK, 1);
    shortcut k = {.items = (int)items,
                  .others = (int)(tensor_len(src) / N / src->dim[0]),
                  .in_c = a->in_c / N,
                  .out_c = a->out / N,
                  .before = a->before / N,
                  .in_w = a->in_w,
                  .out_w = (int)y->dim[3],
                  .chunks = divider_of(chunks),
                  .channels = divider_of((unsigned)(grad ? a->in_c : a->out) / N),
                  .width = divider_of((unsigned)(grad ? a->in_w : y->dim[3])),
                  .stride = divider_of((unsigned)a->stride)};
    unsigned grid = chunks * (unsigned)dst->dim[0];

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
    int any = a->in_c | a->out | a->before; /* a power of 2 divides all or not this */

    WITH_DTYPE(s->out_tensor[0]->dtype, T,
               WITH_PACK(T, any, N, shortcut_launch<T, N>(s, dev)));
}

extern const struct kernel cuda_pad_shortcut = {
    .name = "cuda pad_shortcut",
    .claim = shortcut_claim,
    .run = shortcut_run,
};
