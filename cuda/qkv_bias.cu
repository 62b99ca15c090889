/* qkv_bias and its gradient: one element per thread. Bytes: all tensors once. */
#include "ops/qkv_bias.h"

#include "cuda/kernels.h"
#include "cuda/launch.h"
#include "graph/kernel.h"

enum { BLOCK = 256 };

__global__ void __launch_bounds__(BLOCK)
    qkv_join(const float *q, const float *v, float *dst, int c)
{
    int i = (int)(blockIdx.x * BLOCK + threadIdx.x);

    if (i < c) {
        dst[i] = q[i];
        dst[c + i] = 0;
        dst[2 * c + i] = v[i];
    }
}

/* q, v: may be NULL */
__global__ void __launch_bounds__(BLOCK)
    qkv_split(const float *src, float *q, float *v, int c)
{
    int i = (int)(blockIdx.x * BLOCK + threadIdx.x);

    if (i < c && q)
        q[i] = src[i];
    if (i < c && v)
        v[i] = src[2 * c + i];
}

static const char *qkv_bias_claim(struct region *r, struct graph *, struct node *n,
                                  struct device *)
{
    if (n->op != &op_qkv_bias && n->op != &op_qkv_bias_grad)
        return "not the bias of q, k and v";

    region_claim_node(r, n);
    return nullptr;
}

static void qkv_bias_run(struct step *s, struct device *dev)
{
    bool grad = s->node->op == &op_qkv_bias_grad;
    const struct tensor *all = grad ? s->in_tensor[0] : s->out_tensor[0];
    int c = (int)(all->dim[0] / 3);

    if (grad)
        LAUNCH(dev, qkv_split, cuda_blocks(c, BLOCK, 1), BLOCK, 0,
               (const float *)s->in[QKV_BIAS_GRAD_D], (float *)s->out[QKV_BIAS_Q],
               (float *)s->out[QKV_BIAS_V], c);
    else
        LAUNCH(dev, qkv_join, cuda_blocks(c, BLOCK, 1), BLOCK, 0,
               (const float *)s->in[QKV_BIAS_Q], (const float *)s->in[QKV_BIAS_V],
               (float *)s->out[0], c);
}

extern const struct kernel cuda_qkv_bias = {
    .name = "cuda qkv_bias",
    .claim = qkv_bias_claim,
    .run = qkv_bias_run,
};
