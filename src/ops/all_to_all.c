#include "ops/all_to_all.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"

struct tensor *all_to_all(struct builder *b, struct tensor *x,
                          const struct collective *group, bool back, const char *layer)
{
    struct all_to_all_attrs a = {layer, group, back};

    return node(b, &op_all_to_all, layer, &a, &x, 1);
}

static const char *all_to_all_shape(struct node *n)
{
    const struct all_to_all_attrs *a = n->attrs;
    const struct tensor *x = n->in[0];
    int64_t world = a->group ? a->group->world : 0;

    if (!world)
        return "no processes";
    if (x->layout != LAYOUT_PLAIN || x->ndim != 3 || !tensor_is_float(x))
        return "there are no rows of experts";
    if (x->dim[a->back ? 1 : 0] % world)
        return "processes have different numbers of experts or rows";
    if (tensor_len(x) > INT32_MAX)
        return "there are more than 2^31 elements";
    tensor_plain(n->out[0], x->dtype, 3,
                 (const int64_t[]){a->back ? x->dim[0] * world : x->dim[0] / world,
                                   a->back ? x->dim[1] / world : x->dim[1] * world,
                                   x->dim[2]});
    return NULL;
}

static void all_to_all_grad(struct builder *b, const struct node *n)
{
    const struct all_to_all_attrs *a = n->attrs;
    struct tensor *dy = grad_of(b, n->out[0]);

    grad_add(b, n->in[0], all_to_all(b, dy, a->group, !a->back, n->layer));
}

struct exchange all_to_all_exchange(const struct all_to_all_attrs *a,
                                    const struct tensor *y)
{
    int64_t experts = a->back ? y->dim[0] / a->group->world : y->dim[0];

    return (struct exchange){(int)experts, a->back,
                             tensor_len(y) / (experts * a->group->world)};
}

static void all_to_all_ref(const struct step *s)
{
    const struct all_to_all_attrs *a = s->node->attrs;
    struct exchange e = all_to_all_exchange(a, s->node->out[0]);

    a->group->exchange(a->group, &e, s->in[0], s->out[0], DTYPE_F32);
}

const struct op op_all_to_all = {
    .name = "all_to_all",
    .attrs_size = sizeof(struct all_to_all_attrs),
    .nout = 1,
    .precision = PRECISION_HALF,
    .shape = all_to_all_shape,
    .grad = all_to_all_grad,
    .ref = all_to_all_ref,
};
