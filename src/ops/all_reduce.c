#include "ops/all_reduce.h"

#include "graph/kernel.h"

void all_reduce(struct builder *b, const struct collective *group, struct tensor *x)
{
    struct all_reduce_attrs a = {"all_reduce", group};

    node_update(b, &op_all_reduce, a.layer, &a, NULL, 0, &x, 1);
}

static const char *all_reduce_shape(struct node *n)
{
    const struct all_reduce_attrs *a = n->attrs;

    return a->group && n->out[0]->dtype == DTYPE_F32 ? NULL
                                                     : "no processes, or no floats";
}

static int64_t all_reduce_flops(const struct node *n)
{
    const struct all_reduce_attrs *a = n->attrs;

    return a->group->world * tensor_len(n->out[0]);
}

static void all_reduce_ref(const struct step *s)
{
    const struct all_reduce_attrs *a = s->node->attrs;

    a->group->mean(a->group, s->out[0], tensor_len(s->node->out[0]));
}

const struct op op_all_reduce = {
    .name = "all_reduce",
    .attrs_size = sizeof(struct all_reduce_attrs),
    .precision = PRECISION_F32,
    .shape = all_reduce_shape,
    .flops = all_reduce_flops,
    .ref = all_reduce_ref,
};

void all_gather(struct builder *b, const struct collective *group, const int64_t *begin,
                struct tensor *x)
{
    struct all_gather_attrs a = {"all_gather", group, begin};

    node_update(b, &op_all_gather, a.layer, &a, NULL, 0, &x, 1);
}

static const char *all_gather_shape(struct node *n)
{
    const struct all_gather_attrs *a = n->attrs;

    if (!a->group || n->out[0]->dtype != DTYPE_F32)
        return "no processes, or no floats";
    return a->begin[a->group->world] <= tensor_len(n->out[0]) ? NULL
                                                              : "parts are out of range";
}

static void all_gather_ref(const struct step *s)
{
    const struct all_gather_attrs *a = s->node->attrs;

    a->group->gather(a->group, s->out[0], a->begin);
}

const struct op op_all_gather = {
    .name = "all_gather",
    .attrs_size = sizeof(struct all_gather_attrs),
    .precision = PRECISION_F32,
    .shape = all_gather_shape,
    .ref = all_gather_ref,
};
