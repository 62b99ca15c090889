#include "ops/concat.h"

#include <string.h>

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *concat(struct builder *b, struct tensor *x, struct tensor *y,
                      const char *layer)
{
    struct tensor *in[] = {x, y};

    return node(b, &op_concat, layer, NULL, in, 2);
}

static const char *concat_shape(struct node *n)
{
    const struct tensor *first = n->in[0];
    int64_t channels = 0;

    for (int i = 0; i < n->nin; i++) {
        const struct tensor *t = n->in[i];

        if (!tensor_is_image(t))
            return "not an image";
        if (t->dim[IMAGE_N] != first->dim[IMAGE_N] ||
            t->dim[IMAGE_H] != first->dim[IMAGE_H] ||
            t->dim[IMAGE_W] != first->dim[IMAGE_W])
            return "the images differ in batch, height or width";
        channels += t->dim[IMAGE_C];
    }
    tensor_image(n->out[0], first->dtype, first->dim[IMAGE_N], channels,
                 first->dim[IMAGE_H], first->dim[IMAGE_W]);
    return NULL;
}

static void concat_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);
    struct channel_slice_attrs a = {.layer = n->layer};

    for (int i = 0; i < n->nin; i++) {
        a.len = (int)n->in[i]->dim[IMAGE_C];
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], node(b, &op_channel_slice, n->layer, &a, &dy, 1));
        a.from += a.len;
    }
}

/* Copies `len` channels of each pixel between rows of `from_c` and `to_c` channels. */
static void copy_channels(float *to, int64_t to_c, const float *from, int64_t from_c,
                          int64_t len, int64_t pixels)
{
    for (int64_t i = 0; i < pixels; i++)
        memcpy(to + i * to_c, from + i * from_c, (size_t)len * sizeof(float));
}

static void concat_ref(const struct step *s)
{
    const struct tensor *y = s->node->out[0];
    int64_t all = y->dim[IMAGE_C], pixels = tensor_len(y) / all, at = 0;

    for (int i = 0; i < s->node->nin; i++) {
        int64_t c = s->node->in[i]->dim[IMAGE_C];

        copy_channels((float *)s->out[0] + at, all, s->in[i], c, c, pixels);
        at += c;
    }
}

const struct op op_concat = {
    .name = "concat",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = concat_shape,
    .grad = concat_grad,
    .ref = concat_ref,
};

static const struct attr channel_slice_attr_table[] = {
    ATTR_INT(struct channel_slice_attrs, from, 0, 1 << 20, "first channel"),
    ATTR_INT(struct channel_slice_attrs, len, 1, 1 << 20, "channels"),
    {0},
};

static const char *channel_slice_shape(struct node *n)
{
    const struct channel_slice_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];

    if (!tensor_is_image(x))
        return "not an image";
    if (a->from + a->len > x->dim[IMAGE_C])
        return "there are not so many channels";
    tensor_image(n->out[0], x->dtype, x->dim[IMAGE_N], a->len, x->dim[IMAGE_H],
                 x->dim[IMAGE_W]);
    return NULL;
}

struct tensor *channel_slice_of(const struct tensor *t, int64_t *from)
{
    const struct node *n = t->producer;

    if (!n || n->op != &op_channel_slice)
        return NULL;
    *from = ((const struct channel_slice_attrs *)n->attrs)->from;
    return n->in[0];
}

static void channel_slice_ref(const struct step *s)
{
    const struct channel_slice_attrs *a = s->node->attrs;
    const struct tensor *x = s->node->in[0];
    int64_t all = x->dim[IMAGE_C];

    copy_channels(s->out[0], a->len, (const float *)s->in[0] + a->from, all, a->len,
                  tensor_len(x) / all);
}

const struct op op_channel_slice = {
    .name = "channel_slice",
    .attrs = channel_slice_attr_table,
    .attrs_size = sizeof(struct channel_slice_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = channel_slice_shape,
    .ref = channel_slice_ref,
};
