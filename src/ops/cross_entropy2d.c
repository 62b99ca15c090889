#include "ops/cross_entropy2d.h"

#include <math.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/log_sum_exp.h"

static const struct attr cross_entropy2d_attr_table[] = {
    ATTR_INT(struct cross_entropy2d_attrs, ignore, -1, 255, "the label left out"),
    ATTR_INT(struct cross_entropy2d_attrs, weighted, 0, 1, "classes have weights"),
    {0},
};

struct tensor *cross_entropy2d_(struct builder *b, struct tensor *logits,
                                struct tensor *labels,
                                const struct cross_entropy2d_attrs *a)
{
    struct tensor *in[] = {
        [CROSS_ENTROPY2D_LOGITS] = logits, [CROSS_ENTROPY2D_LABELS] = labels};

    return node(b, &op_cross_entropy2d, a->layer, a, in, 2);
}

const char *cross_entropy2d_check(const struct tensor *z, const struct tensor *labels)
{
    if (!tensor_is_image(z))
        return "the logits are not an image";
    if (z->dim[IMAGE_C] > CROSS_ENTROPY2D_CLASSES)
        return "more than 256 classes";
    if (labels->dtype != DTYPE_U8 || labels->layout != LAYOUT_PLAIN ||
        labels->ndim != 3 || labels->dim[0] != z->dim[IMAGE_N] ||
        labels->dim[1] != z->dim[IMAGE_H] || labels->dim[2] != z->dim[IMAGE_W])
        return "one byte of label for each pixel is needed";
    return NULL;
}

static const char *weights_check(const struct cross_entropy2d_attrs *a, int64_t classes)
{
    for (int64_t k = 0; a->weighted && k < classes; k++)
        if (!(a->weight[k] >= 0) || isinf(a->weight[k]))
            return "a class weight is negative or not finite";
    return NULL;
}

static const char *cross_entropy2d_shape(struct node *n)
{
    const struct tensor *z = n->in[CROSS_ENTROPY2D_LOGITS];
    const char *why = cross_entropy2d_check(z, n->in[CROSS_ENTROPY2D_LABELS]);
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return why ? why : weights_check(n->attrs, z->dim[IMAGE_C]);
}

static void cross_entropy2d_grad(struct builder *b, const struct node *n)
{
    struct tensor *z = n->in[CROSS_ENTROPY2D_LOGITS];
    struct tensor *in[] = {
        [CROSS_ENTROPY2D_GRAD_LOGITS] = z,
        [CROSS_ENTROPY2D_GRAD_LABELS] = n->in[CROSS_ENTROPY2D_LABELS],
        [CROSS_ENTROPY2D_GRAD_DLOSS] = grad_of(b, n->out[0]),
    };

    grad_add(b, z, node(b, &op_cross_entropy2d_grad, n->layer, n->attrs, in, 3));
}

/* max, subtract, exp, sum, product with the target */
static int64_t cross_entropy2d_flops(const struct node *n)
{
    return 5 * tensor_len(n->in[CROSS_ENTROPY2D_LOGITS]);
}

/* Returns the weight of pixel i, 0 if it is ignored. */
static double weight_of(const struct step *s, int64_t i)
{
    const struct cross_entropy2d_attrs *a = s->node->attrs;
    int y = ((const uint8_t *)s->in[CROSS_ENTROPY2D_LABELS])[i];
    int64_t classes = s->node->in[CROSS_ENTROPY2D_LOGITS]->dim[IMAGE_C];

    if (y != a->ignore && y >= classes)
        BUG("label %d of %lld classes", y, (long long)classes);
    return cross_entropy2d_weight(a, y);
}

static double sum_weights(const struct step *s, int64_t pixels)
{
    double sum = 0;

    for (int64_t i = 0; i < pixels; i++)
        sum += weight_of(s, i);
    return sum;
}

static void cross_entropy2d_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[CROSS_ENTROPY2D_LOGITS];
    const uint8_t *label = s->in[CROSS_ENTROPY2D_LABELS];
    int64_t classes = t->dim[IMAGE_C], pixels = tensor_len(t) / classes;
    double loss = 0, all = sum_weights(s, pixels);

    for (int64_t i = 0; i < pixels; i++) {
        const float *z = (const float *)s->in[CROSS_ENTROPY2D_LOGITS] + i * classes;
        double w = weight_of(s, i);

        if (w > 0)
            loss += w * (log_sum_exp(z, classes) - z[label[i]]);
    }
    *(float *)s->out[0] = all > 0 ? (float)(loss / all) : 0;
}

const struct op op_cross_entropy2d = {
    .name = "cross_entropy2d",
    .attrs = cross_entropy2d_attr_table,
    .attrs_size = sizeof(struct cross_entropy2d_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = cross_entropy2d_shape,
    .grad = cross_entropy2d_grad,
    .flops = cross_entropy2d_flops,
    .ref = cross_entropy2d_ref,
};

static const char *cross_entropy2d_grad_shape(struct node *n)
{
    const struct tensor *z = n->in[CROSS_ENTROPY2D_GRAD_LOGITS];

    if (!tensor_is_vector(n->in[CROSS_ENTROPY2D_GRAD_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], z);
    return cross_entropy2d_check(z, n->in[CROSS_ENTROPY2D_GRAD_LABELS]);
}

static void cross_entropy2d_grad_ref(const struct step *s)
{
    const struct tensor *t = s->node->in[CROSS_ENTROPY2D_GRAD_LOGITS];
    const uint8_t *label = s->in[CROSS_ENTROPY2D_GRAD_LABELS];
    int64_t classes = t->dim[IMAGE_C], pixels = tensor_len(t) / classes;
    double dloss = *(const float *)s->in[CROSS_ENTROPY2D_GRAD_DLOSS];
    double all = sum_weights(s, pixels);

    for (int64_t i = 0; i < pixels; i++) {
        const float *z = (const float *)s->in[CROSS_ENTROPY2D_GRAD_LOGITS] + i * classes;
        float *dz = (float *)s->out[0] + i * classes;
        double w = weight_of(s, i), lse = log_sum_exp(z, classes);

        for (int64_t k = 0; k < classes; k++)
            dz[k] = w > 0 ? (float)((exp(z[k] - lse) - (label[i] == k)) * w * dloss / all)
                          : 0;
    }
}

const struct op op_cross_entropy2d_grad = {
    .name = "cross_entropy2d_grad",
    .attrs = cross_entropy2d_attr_table,
    .attrs_size = sizeof(struct cross_entropy2d_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = cross_entropy2d_grad_shape,
    .flops = cross_entropy2d_flops,
    .ref = cross_entropy2d_grad_ref,
};
