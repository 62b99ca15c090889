#include "ops/corn.h"

#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/corn_formula.h"

struct tensor *corn(struct builder *b, struct tensor *logits, const char *layer)
{
    struct tensor *in[] = {[CORN_LOGITS] = logits};

    return node(b, &op_corn, layer, NULL, in, 1);
}

static const char *corn_shape(struct node *n)
{
    const struct tensor *z = n->in[CORN_LOGITS];

    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x (K - 1)";
    tensor_plain(n->out[0], DTYPE_F32, 2, (int64_t[]){z->dim[0], z->dim[1] + 1});
    return NULL;
}

static void corn_grad(struct builder *b, const struct node *n)
{
    struct tensor *z = n->in[CORN_LOGITS];
    struct tensor *in[] = {
        [CORN_GRAD_LOGITS] = z, [CORN_GRAD_DY] = grad_of(b, n->out[0])};

    grad_add(b, z, node(b, &op_corn_grad, n->layer, NULL, in, 2));
}

/* two exponentials, two logarithms, and their sums */
static int64_t corn_flops(const struct node *n)
{
    return 8 * tensor_len(n->in[CORN_LOGITS]);
}

static void corn_ref(const struct step *s)
{
    const struct tensor *y = s->node->out[0];
    int64_t classes = y->dim[1];

    for (int64_t i = 0; i < y->dim[0]; i++)
        corn_row((const float *)s->in[CORN_LOGITS] + i * (classes - 1), classes,
                 (float *)s->out[0] + i * classes);
}

const struct op op_corn = {
    .name = "corn",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = corn_shape,
    .grad = corn_grad,
    .flops = corn_flops,
    .ref = corn_ref,
};

static const char *corn_grad_shape(struct node *n)
{
    const struct tensor *z = n->in[CORN_GRAD_LOGITS], *dy = n->in[CORN_GRAD_DY];

    if (z->ndim != 2 || dy->ndim != 2 || dy->dim[0] != z->dim[0] ||
        dy->dim[1] != z->dim[1] + 1)
        return "logits must be N x (K - 1), and dy N x K";
    tensor_like(n->out[0], z);
    return NULL;
}

static void corn_grad_ref(const struct step *s)
{
    const struct tensor *dy = s->node->in[CORN_GRAD_DY];
    int64_t classes = dy->dim[1];

    for (int64_t i = 0; i < dy->dim[0]; i++)
        corn_row_grad((const float *)s->in[CORN_GRAD_LOGITS] + i * (classes - 1),
                      (const float *)s->in[CORN_GRAD_DY] + i * classes, classes,
                      (float *)s->out[0] + i * (classes - 1));
}

const struct op op_corn_grad = {
    .name = "corn_grad",
    .nout = 1,
    .precision = PRECISION_F32,
    .shape = corn_grad_shape,
    .flops = corn_flops,
    .ref = corn_grad_ref,
};
