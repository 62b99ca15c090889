#include "ops/qkv_bias.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *qkv_bias(struct builder *b, struct tensor *q_bias, struct tensor *v_bias,
                        const char *layer)
{
    struct tensor *in[] = {[QKV_BIAS_Q] = q_bias, [QKV_BIAS_V] = v_bias};

    return node(b, &op_qkv_bias, layer, NULL, in, 2);
}

static const char *qkv_bias_shape(struct node *n)
{
    const struct tensor *q = n->in[QKV_BIAS_Q];
    int64_t all = 3 * q->dim[0];

    if (q->ndim != 1 || !tensor_is_vector(n->in[QKV_BIAS_V], q->dim[0]))
        return "two vectors of the same length are needed";
    tensor_plain(n->out[0], DTYPE_F32, 1, &all);
    return NULL;
}

static void qkv_bias_backward(struct builder *b, const struct node *n)
{
    struct tensor *d = grad_of(b, n->out[0]);
    struct tensor **out =
        node(b, &op_qkv_bias_grad, n->layer, NULL, &d, 1)->producer->out;

    for (int i = 0; i < n->nin; i++)
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], out[i]);
}

static int64_t no_flops(const struct node *n)
{
    (void)n;
    return 0;
}

static void qkv_bias_ref(const struct step *s)
{
    size_t size = tensor_size(s->node->in[QKV_BIAS_Q]);
    char *dst = s->out[0];

    memcpy(dst, s->in[QKV_BIAS_Q], size);
    memset(dst + size, 0, size);
    memcpy(dst + 2 * size, s->in[QKV_BIAS_V], size);
}

const struct op op_qkv_bias = {
    .name = "qkv_bias",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = qkv_bias_shape,
    .grad = qkv_bias_backward,
    .flops = no_flops,
    .ref = qkv_bias_ref,
};

static const char *qkv_bias_grad_shape(struct node *n)
{
    const struct tensor *d = n->in[QKV_BIAS_GRAD_D];
    int64_t c = d->dim[0] / 3;

    if (!tensor_is_vector(d, 3 * c))
        return "not the gradient of three vectors";
    tensor_plain(n->out[QKV_BIAS_Q], DTYPE_F32, 1, &c);
    tensor_plain(n->out[QKV_BIAS_V], DTYPE_F32, 1, &c);
    return NULL;
}

static void qkv_bias_grad_ref(const struct step *s)
{
    size_t size = tensor_size(s->node->out[QKV_BIAS_Q]);
    const char *src = s->in[QKV_BIAS_GRAD_D];

    memcpy(s->out[QKV_BIAS_Q], src, size);
    memcpy(s->out[QKV_BIAS_V], src + 2 * size, size);
}

const struct op op_qkv_bias_grad = {
    .name = "qkv_bias_grad",
    .nout = 2,
    .precision = PRECISION_F32,
    .shape = qkv_bias_grad_shape,
    .flops = no_flops,
    .ref = qkv_bias_grad_ref,
};
