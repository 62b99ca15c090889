#include "ops/loss_sum.h"

#include <float.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/image.h"

struct tensor *loss_sum(struct builder *b, struct tensor *const *loss, int n,
                        const struct loss_sum_attrs *a)
{
    if (n < 1 || n > LOSS_SUM_MAX)
        BUG("a sum of %d losses", n);
    return node(b, &op_loss_sum, a->layer, a, loss, n);
}

struct tensor *loss_share(struct builder *b, struct tensor *dloss,
                          const struct loss_share_attrs *a)
{
    return node(b, &op_loss_share, a->layer, a, &dloss, 1);
}

static const char *loss_sum_shape(struct node *n)
{
    int64_t one = 1;

    for (int i = 0; i < n->nin; i++)
        if (!tensor_is_vector(n->in[i], 1))
            return "a loss is one number";
    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    return NULL;
}

static void loss_sum_grad(struct builder *b, const struct node *n)
{
    const struct loss_sum_attrs *a = n->attrs;
    struct tensor *dloss = grad_of(b, n->out[0]);

    for (int i = 0; i < n->nin; i++) {
        struct loss_share_attrs share = {n->layer, a->weight[i]};

        if (grad_wanted(n->in[i]))
            grad_add(b, n->in[i], loss_share(b, dloss, &share));
    }
}

static int64_t loss_sum_flops(const struct node *n)
{
    return 2 * n->nin;
}

static void loss_sum_ref(const struct step *s)
{
    const struct loss_sum_attrs *a = s->node->attrs;
    double sum = 0;

    for (int i = 0; i < s->node->nin; i++)
        sum += (double)a->weight[i] * *(const float *)s->in[i];
    *(float *)s->out[0] = (float)sum;
}

const struct op op_loss_sum = {
    .name = "loss_sum",
    .attrs_size = sizeof(struct loss_sum_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = loss_sum_shape,
    .grad = loss_sum_grad,
    .flops = loss_sum_flops,
    .ref = loss_sum_ref,
};

static const struct attr loss_share_attr_table[] = {
    ATTR_FLOAT(struct loss_share_attrs, weight, 0, 1e30, "of the loss in the sum"),
    {0},
};

static void loss_share_ref(const struct step *s)
{
    const struct loss_share_attrs *a = s->node->attrs;

    *(float *)s->out[0] = a->weight * *(const float *)s->in[0];
}

const struct op op_loss_share = {
    .name = "loss_share",
    .attrs = loss_share_attr_table,
    .attrs_size = sizeof(struct loss_share_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = loss_sum_shape,
    .flops = loss_sum_flops,
    .ref = loss_share_ref,
};

struct tensor *loss_times(struct builder *b, struct tensor *loss, struct tensor *shares,
                          const struct loss_times_attrs *a)
{
    struct tensor *in[] = {[LOSS_TIMES_LOSS] = loss, [LOSS_TIMES_SHARES] = shares};

    return node(b, &op_loss_times, a->layer, a, in, 2);
}

static const struct attr loss_times_attr_table[] = {
    ATTR_INT(struct loss_times_attrs, index, 0, LOSS_SUM_MAX, "which of the numbers"),
    {0},
};

static const char *loss_times_shape(struct node *n)
{
    const struct loss_times_attrs *a = n->attrs;
    const struct tensor *shares = n->in[LOSS_TIMES_SHARES];
    int64_t one = 1;

    tensor_plain(n->out[0], DTYPE_F32, 1, &one);
    if (!tensor_is_vector(n->in[LOSS_TIMES_LOSS], 1))
        return "a loss is one number";
    if (shares->dtype != DTYPE_F32 || shares->ndim != 1 || a->index >= shares->dim[0])
        return "there is no such share";
    return NULL;
}

static void loss_times_grad(struct builder *b, const struct node *n)
{
    struct tensor *dloss = grad_of(b, n->out[0]);

    grad_add(b, n->in[LOSS_TIMES_LOSS],
             loss_times(b, dloss, n->in[LOSS_TIMES_SHARES], n->attrs));
}

static void loss_times_ref(const struct step *s)
{
    const struct loss_times_attrs *a = s->node->attrs;
    const float *loss = s->in[LOSS_TIMES_LOSS], *shares = s->in[LOSS_TIMES_SHARES];

    *(float *)s->out[0] = *loss * shares[a->index];
}

const struct op op_loss_times = {
    .name = "loss_times",
    .attrs = loss_times_attr_table,
    .attrs_size = sizeof(struct loss_times_attrs),
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = loss_times_shape,
    .grad = loss_times_grad,
    .flops = loss_sum_flops,
    .ref = loss_times_ref,
};
