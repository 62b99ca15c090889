#include "ops/add_noise.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/control.h"
#include "ops/dropout.h"
#include "ops/state.h"

static const struct attr add_noise_attr_table[] = {
    ATTR_FLOAT(struct add_noise_attrs, deviation, 0, 1e30, "of the noise"),
    {0},
};

struct tensor *add_noise(struct builder *b, struct tensor *x, float deviation,
                         const char *layer)
{
    struct add_noise_attrs a = {layer, deviation, dropout_salt(layer), share_of(b->g)};

    if (!b->g->training || deviation == 0)
        return x;

    struct tensor *in[] = {[ADD_NOISE_X] = x, [ADD_NOISE_CONTROL] = control_tensor(b)};

    return node(b, &op_add_noise, layer, &a, in, 2);
}

static const char *add_noise_shape(struct node *n)
{
    tensor_like(n->out[0], n->in[ADD_NOISE_X]);
    return NULL;
}

static void add_noise_grad(struct builder *b, const struct node *n)
{
    grad_add(b, n->in[ADD_NOISE_X], grad_of(b, n->out[0]));
}

static int64_t add_noise_flops(const struct node *n)
{
    return 2 * tensor_len(n->out[0]);
}

static void add_noise_ref(const struct step *s)
{
    const struct add_noise_attrs *a = s->node->attrs;
    const struct control *c = s->in[ADD_NOISE_CONTROL];
    const struct tensor *t = s->node->out[0];
    const float *x = s->in[ADD_NOISE_X];
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(t); i++) {
        int64_t pos = share_element(a->share, i, tensor_len(t) / t->dim[0]);

        y[i] = x[i] + a->deviation * add_noise_normal(c->seed, (uint64_t)c->micro,
                                                      (uint32_t)a->salt, (uint64_t)pos);
    }
}

const struct op op_add_noise = {
    .name = "add_noise",
    .attrs = add_noise_attr_table,
    .attrs_size = sizeof(struct add_noise_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = add_noise_shape,
    .grad = add_noise_grad,
    .flops = add_noise_flops,
    .ref = add_noise_ref,
};
