#include "ops/add.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"

struct tensor *add(struct builder *b, struct tensor *x, struct tensor *y,
                   const char *layer)
{
    struct tensor *in[] = {x, y};

    return node(b, &op_add, layer, NULL, in, 2);
}

static const char *add_shape(struct node *n)
{
    if (n->nin < 2)
        return "fewer than two inputs";
    for (int i = 1; i < n->nin; i++)
        if (!tensor_same(n->in[0], n->in[i]))
            return "the inputs differ in shape";
    tensor_like(n->out[0], n->in[0]);
    return NULL;
}

static void add_grad(struct builder *b, const struct node *n)
{
    for (int i = 0; i < n->nin; i++)
        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], grad_of(b, n->out[0]));
}

static int64_t add_flops(const struct node *n)
{
    return (n->nin - 1) * tensor_len(n->out[0]);
}

static void add_ref(const struct step *s)
{
    float *y = s->out[0];

    for (int64_t i = 0; i < tensor_len(s->node->out[0]); i++) {
        double sum = 0;

        for (int k = 0; k < s->node->nin; k++)
            sum += ((const float *)s->in[k])[i];
        y[i] = (float)sum;
    }
}

const struct op op_add = {
    .name = "add",
    .nout = 1,
    .precision = PRECISION_WIDEST,
    .shape = add_shape,
    .grad = add_grad,
    .flops = add_flops,
    .ref = add_ref,
};
