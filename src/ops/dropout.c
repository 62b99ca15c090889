#include "ops/dropout.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout_formula.h"
#include "ops/image.h"
#include "ops/state.h"

static const struct attr dropout_attr_table[] = {
    ATTR_FLOAT(struct dropout_attrs, rate, 0, 0.999, "share of what is dropped"),
    {0},
};

/* FNV-1a, without the sign bit */
int dropout_salt(const char *layer)
{
    uint32_t h = 2166136261u;

    for (const char *s = layer; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return (int)(h & 0x7fffffffu);
}

struct tensor *dropout_(struct builder *b, struct tensor *x, const struct op *op,
                        const struct dropout_attrs *a)
{
    struct dropout_attrs r = *a;

    r.salt = dropout_salt(r.layer);
    r.share = share_of(b->g);
    if (!b->g->training || r.rate == 0)
        return x;

    struct tensor *in[] = {[DROPOUT_X] = x, [DROPOUT_CONTROL] = control_tensor(b)};

    return node(b, op, r.layer, &r, in, 2);
}

static const char *dropout_shape(struct node *n)
{
    tensor_like(n->out[0], n->in[DROPOUT_X]);
    return NULL;
}

/* dx = dy * factor: the same op, and the same mask, on dy */
static void dropout_grad(struct builder *b, const struct node *n)
{
    struct tensor *in[] = {
        [DROPOUT_X] = grad_of(b, n->out[0]), [DROPOUT_CONTROL] = n->in[DROPOUT_CONTROL]};

    grad_add(b, n->in[DROPOUT_X], node(b, n->op, n->layer, n->attrs, in, 2));
}

static int64_t dropout_flops(const struct node *n)
{
    return tensor_len(n->out[0]);
}

static void dropout_ref(const struct step *s)
{
    const struct dropout_attrs *a = s->node->attrs;
    const struct control *control = s->in[DROPOUT_CONTROL];
    const float *x = s->in[DROPOUT_X];
    const struct tensor *t = s->node->out[0];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t pos = share_element(a->share, i, tensor_len(t) / t->dim[0]);
        struct philox r = dropout_block(control->seed, (uint64_t)control->micro,
                                        (uint32_t)a->salt, (uint64_t)pos / 4);

        y[i] = x[i] * dropout_factor(r.v[pos % 4], a->rate);
    }
}

const struct op op_dropout = {
    .name = "dropout",
    .attrs = dropout_attr_table,
    .attrs_size = sizeof(struct dropout_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = dropout_shape,
    .grad = dropout_grad,
    .flops = dropout_flops,
    .ref = dropout_ref,
};

static void drop_path_ref(const struct step *s)
{
    const struct dropout_attrs *a = s->node->attrs;
    const struct control *control = s->in[DROPOUT_CONTROL];
    const struct tensor *t = s->node->out[0];
    const float *x = s->in[DROPOUT_X];
    float *y = s->out[0];
    int64_t sample = tensor_len(t) / t->dim[0];

    for (int64_t i = 0; i < tensor_len(t); i++)
        y[i] =
            x[i] * drop_path_factor(control->seed, (uint64_t)control->micro,
                                    (uint32_t)a->salt,
                                    (uint64_t)share_image(a->share, i / sample), a->rate);
}

const struct op op_drop_path = {
    .name = "drop_path",
    .attrs = dropout_attr_table,
    .attrs_size = sizeof(struct dropout_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = dropout_shape,
    .grad = dropout_grad,
    .flops = dropout_flops,
    .ref = drop_path_ref,
};

static const char *dropout2d_shape(struct node *n)
{
    if (!tensor_is_image(n->in[DROPOUT_X]))
        return "not an image";
    return dropout_shape(n);
}

static void dropout2d_ref(const struct step *s)
{
    const struct dropout_attrs *a = s->node->attrs;
    const struct control *control = s->in[DROPOUT_CONTROL];
    const struct tensor *t = s->node->out[0];
    const float *x = s->in[DROPOUT_X];
    float *y = s->out[0];
    int64_t channels = t->dim[IMAGE_C], sample = tensor_len(t) / t->dim[IMAGE_N];

    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t number = share_image(a->share, i / sample) * channels + i % channels;

        y[i] = x[i] * dropout2d_factor(control->seed, (uint64_t)control->micro,
                                       (uint32_t)a->salt, (uint64_t)number, a->rate);
    }
}

const struct op op_dropout2d = {
    .name = "dropout2d",
    .attrs = dropout_attr_table,
    .attrs_size = sizeof(struct dropout_attrs),
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = dropout2d_shape,
    .grad = dropout_grad,
    .flops = dropout_flops,
    .ref = dropout2d_ref,
};
