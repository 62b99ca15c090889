#include "ops/gram.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor **gram(struct builder *b, struct tensor *x, const char *layer)
{
    return node(b, &op_gram, layer, NULL, &x, 1)->producer->out;
}

static const char *gram_shape(struct node *n)
{
    const struct tensor *x = n->in[GRAM_X];
    int64_t dim[] = {x->dim[IMAGE_C], x->dim[IMAGE_C]};

    if (!tensor_is_image(x))
        return "not an image";
    tensor_plain(n->out[GRAM_GRAM], DTYPE_F32, 2, dim);
    tensor_plain(n->out[GRAM_SUM], DTYPE_F32, 1, dim);
    return NULL;
}

static void gram_grad(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[GRAM_X];
    struct tensor *in[] = {[GRAM_GRAD_X] = x,
                           [GRAM_GRAD_DGRAM] = grad_of(b, n->out[GRAM_GRAM]),
                           [GRAM_GRAD_DSUM] = grad_of(b, n->out[GRAM_SUM])};

    if (grad_wanted(x))
        grad_add(b, x, node(b, &op_gram_grad, n->layer, NULL, in, 3));
}

static int64_t gram_flops(const struct node *n)
{
    const struct tensor *x = n->in[GRAM_X];

    return tensor_len(x) * (2 * x->dim[IMAGE_C] + 1);
}

static void gram_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[GRAM_X];
    const float *x = s->in[GRAM_X];
    float *moments = s->out[GRAM_GRAM], *sums = s->out[GRAM_SUM];
    int64_t channels = t->dim[IMAGE_C];

    for (int64_t i = 0; i < channels; i++) {
        double sum = 0;

        for (int64_t pos = 0; pos < tensor_len(t); pos += channels)
            sum += x[pos + i];
        sums[i] = (float)sum;
        for (int64_t j = 0; j < channels; j++) {
            double product = 0;

            for (int64_t pos = 0; pos < tensor_len(t); pos += channels)
                product += (double)x[pos + i] * x[pos + j];
            moments[i * channels + j] = (float)product;
        }
    }
}

const struct op op_gram = {
    .name = "gram",
    .nout = 2,
    .precision = PRECISION_HALF,
    .f32_out = 1u << GRAM_GRAM | 1u << GRAM_SUM,
    .shape = gram_shape,
    .grad = gram_grad,
    .flops = gram_flops,
    .ref = gram_ref,
};

static const char *gram_grad_shape(struct node *n)
{
    const struct tensor *x = n->in[GRAM_GRAD_X], *m = n->in[GRAM_GRAD_DGRAM];
    int64_t channels = x->dim[IMAGE_C];

    if (!tensor_is_image(x))
        return "not an image";
    if (m->ndim != 2 || m->dim[0] != channels || m->dim[1] != channels ||
        !tensor_is_vector(n->in[GRAM_GRAD_DSUM], channels))
        return "the gradients do not fit";
    tensor_like(n->out[0], x);
    return NULL;
}

static int64_t gram_grad_flops(const struct node *n)
{
    const struct tensor *x = n->in[GRAM_GRAD_X];

    return tensor_len(x) * (2 * x->dim[IMAGE_C] + 1);
}

static void gram_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[GRAM_GRAD_X];
    const float *x = s->in[GRAM_GRAD_X], *moments = s->in[GRAM_GRAD_DGRAM];
    const float *sums = s->in[GRAM_GRAD_DSUM];
    float *dx = s->out[0];
    int64_t channels = t->dim[IMAGE_C];

    for (int64_t pos = 0; pos < tensor_len(t); pos += channels)
        for (int64_t i = 0; i < channels; i++) {
            double sum = sums[i];

            for (int64_t j = 0; j < channels; j++)
                sum += x[pos + j] * ((double)moments[i * channels + j] +
                                     (double)moments[j * channels + i]);
            dx[pos + i] = (float)sum;
        }
}

const struct op op_gram_grad = {
    .name = "gram_grad",
    .nout = 1,
    .precision = PRECISION_HALF,
    .f32_in = 1u << GRAM_GRAD_DGRAM | 1u << GRAM_GRAD_DSUM,
    .shape = gram_grad_shape,
    .flops = gram_grad_flops,
    .ref = gram_grad_ref,
};
