/*
 * relu with its mask as bits (ops/relu_bits.h), and the gradient, where no other kernel
 * includes them (cuda/batchnorm_apply.cu, cuda/batchnorm_grad.cu). A thread has the eight
 * elements of a byte. Either may be written over its input.
 */
#include "cuda/channels.h"
#include "cuda/relu_bits.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/relu_bits.h"

enum { BLOCK = 256 };

template <class T>
__global__ void __launch_bounds__(BLOCK)
    relu_bits_forward(const T *x, T *y, uint8_t *bits, int64_t bytes, float limit)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= bytes)
        return;

    pack<T, 8> v = pack_load<8>(x + 8 * i);

    for (int k = 0; k < 8; k++)
        v.set(k, relu_value(v.get(k), limit));
    pack_store(y + 8 * i, v);
    if (bits)
        bits[i] = relu_bits_of(v, limit);
}

template <class T>
__global__ void __launch_bounds__(BLOCK)
    relu_bits_backward(const uint8_t *bits, const T *dy, T *dx, int64_t bytes)
{
    int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;

    if (i >= bytes)
        return;

    pack<T, 8> v = pack_load<8>(dy + 8 * i);
    unsigned mask = bits[i];

    for (int k = 0; k < 8; k++)
        if (!(mask >> k & 1))
            v.set(k, 0);
    pack_store(dx + 8 * i, v);
}

static const char *bits_claim(struct region *r, struct graph *, struct node *n,
                              struct device *)
{
    int x = RELU_BITS_X; /* of the gradient, dy */

    if (relu_bits_are(n, &op_relu_bits_grad, RELU_BITS_PLAIN))
        x = RELU_BITS_GRAD_DY;
    else if (!relu_bits_are(n, &op_relu_bits, RELU_BITS_PLAIN))
        return "not a relu with bits in our order";
    if (n->in[x]->dtype != n->out[0]->dtype)
        return "one type for all";
    region_claim_node(r, n);
    region_inplace(r, 0, x);
    return nullptr;
}

template <class T> static void launch(const struct step *s, struct device *dev)
{
    int64_t bytes = tensor_len(s->out_tensor[0]) / 8;
    unsigned grid = cuda_blocks(bytes, BLOCK, 1);

    if (s->node->op == &op_relu_bits) {
        const struct relu_bits_attrs *a = (const struct relu_bits_attrs *)s->node->attrs;

        LAUNCH(dev, relu_bits_forward<T>, grid, BLOCK, 0, (const T *)s->in[RELU_BITS_X],
               (T *)s->out[RELU_BITS_Y], (uint8_t *)s->out[RELU_BITS_BITS], bytes,
               a->limit);
        return;
    }
    LAUNCH(dev, relu_bits_backward<T>, grid, BLOCK, 0,
           (const uint8_t *)s->in[RELU_BITS_GRAD_BITS],
           (const T *)s->in[RELU_BITS_GRAD_DY], (T *)s->out[0], bytes);
}

static void bits_run(struct step *s, struct device *dev)
{
    WITH_DTYPE(s->out_tensor[0]->dtype, T, launch<T>(s, dev));
}

extern const struct kernel cuda_relu_bits = {
    .name = "cuda relu_bits",
    .claim = bits_claim,
    .run = bits_run,
};
