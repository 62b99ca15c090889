#include "ops/pad_shortcut.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"
#include "ops/window.h"

static const struct attr pad_shortcut_attr_table[] = {
    ATTR_INT(struct pad_shortcut_attrs, out, 1, 1 << 20, "output channels"),
    ATTR_INT(struct pad_shortcut_attrs, stride, 1, 1024,
             "every stride-th pixel is taken"),
    ATTR_INT(struct pad_shortcut_attrs, append, 0, 1, "new channels come last"),
    {0},
};

struct tensor *pad_shortcut_(struct builder *b, struct tensor *x,
                             const struct pad_shortcut_attrs *a)
{
    struct pad_shortcut_attrs r = *a;

    if (r.stride == 0)
        r.stride = 1;
    r.in_c = (int)x->dim[IMAGE_C];
    r.in_h = (int)x->dim[IMAGE_H];
    r.in_w = (int)x->dim[IMAGE_W];
    r.before = r.append ? 0 : (r.out - r.in_c) / 2;
    return node(b, &op_pad_shortcut, r.layer, &r, &x, 1);
}

static int64_t pad_shortcut_out(const struct pad_shortcut_attrs *a, int64_t in)
{
    return window_count(in, 1, a->stride, 0, 1, false);
}

static const char *pad_shortcut_shape(struct node *n)
{
    const struct pad_shortcut_attrs *a = n->attrs;
    const struct tensor *x = n->in[PAD_SHORTCUT_X];

    if (!tensor_is_image(x))
        return "not an image";
    if (a->out < a->in_c)
        return "fewer channels than before";
    tensor_image(n->out[0], x->dtype, x->dim[IMAGE_N], a->out,
                 pad_shortcut_out(a, a->in_h), pad_shortcut_out(a, a->in_w));
    return NULL;
}

static void pad_shortcut_grad(struct builder *b, const struct node *n)
{
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[PAD_SHORTCUT_X],
             node(b, &op_pad_shortcut_grad, n->layer, n->attrs, &dy, 1));
}

static void pad_shortcut_ref(const struct step *s)
{
    const struct pad_shortcut_attrs *a = s->node->attrs;
    const struct tensor *tx = s->node->in[PAD_SHORTCUT_X], *ty = s->node->out[0];
    const float *x = s->in[PAD_SHORTCUT_X];
    float *y = s->out[0];

    for (int64_t n = 0; n < ty->dim[IMAGE_N]; n++)
        for (int64_t h = 0; h < ty->dim[IMAGE_H]; h++)
            for (int64_t w = 0; w < ty->dim[IMAGE_W]; w++)
                for (int64_t o = 0; o < a->out; o++) {
                    int64_t c = o - a->before;
                    bool old = c >= 0 && c < a->in_c;

                    y[image_at(ty, n, o, h, w)] =
                        old ? x[image_at(tx, n, c, h * a->stride, w * a->stride)] : 0;
                }
}

const struct op op_pad_shortcut = {
    .name = "pad_shortcut",
    .attrs = pad_shortcut_attr_table,
    .attrs_size = sizeof(struct pad_shortcut_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = pad_shortcut_shape,
    .grad = pad_shortcut_grad,
    .ref = pad_shortcut_ref,
};

static const char *pad_shortcut_grad_shape(struct node *n)
{
    const struct pad_shortcut_attrs *a = n->attrs;
    const struct tensor *dy = n->in[PAD_SHORTCUT_GRAD_DY];

    if (!tensor_is_image(dy) || dy->dim[IMAGE_C] != a->out ||
        dy->dim[IMAGE_H] != pad_shortcut_out(a, a->in_h) ||
        dy->dim[IMAGE_W] != pad_shortcut_out(a, a->in_w))
        return "dy does not fit";
    tensor_image(n->out[0], dy->dtype, dy->dim[IMAGE_N], a->in_c, a->in_h, a->in_w);
    return NULL;
}

/* dx = dy at the positions that were read, else 0 */
static void pad_shortcut_grad_ref(const struct step *s)
{
    const struct pad_shortcut_attrs *a = s->node->attrs;
    const struct tensor *tx = s->node->out[0], *ty = s->node->in[PAD_SHORTCUT_GRAD_DY];
    const float *dy = s->in[PAD_SHORTCUT_GRAD_DY];
    float *dx = s->out[0];

    for (int64_t n = 0; n < tx->dim[IMAGE_N]; n++)
        for (int64_t h = 0; h < a->in_h; h++)
            for (int64_t w = 0; w < a->in_w; w++)
                for (int64_t c = 0; c < a->in_c; c++) {
                    bool taken = h % a->stride == 0 && w % a->stride == 0;

                    dx[image_at(tx, n, c, h, w)] =
                        taken ? dy[image_at(ty, n, c + a->before, h / a->stride,
                                            w / a->stride)]
                              : 0;
                }
}

const struct op op_pad_shortcut_grad = {
    .name = "pad_shortcut_grad",
    .attrs = pad_shortcut_attr_table,
    .attrs_size = sizeof(struct pad_shortcut_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = pad_shortcut_grad_shape,
    .ref = pad_shortcut_grad_ref,
};
