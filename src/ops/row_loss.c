#include "ops/row_loss.h"

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/kernel.h"
#include "ops/cross_entropy2d.h"
#include "ops/image.h"

const char *row_loss_check(const struct node *n)
{
    const struct tensor *z = n->in[ROW_LOSS_LOGITS], *labels = n->in[ROW_LOSS_LABELS];

    if (tensor_is_image(z))
        return cross_entropy2d_check(z, labels);
    if (z->layout != LAYOUT_PLAIN || z->ndim != 2)
        return "logits must be N x K, or an image";
    if (labels->dtype != DTYPE_I32 || !tensor_is_vector(labels, z->dim[0]))
        return "one int32 label for each sample is needed";
    return NULL;
}

const char *row_loss_shape(struct node *n, int64_t sums)
{
    int64_t one = 1;

    tensor_plain(n->out[ROW_LOSS_LOSS], DTYPE_F32, 1, &one);
    tensor_plain(n->out[ROW_LOSS_SUMS], DTYPE_F32, 1, &sums);
    return row_loss_check(n);
}

const char *row_loss_grad_shape(struct node *n)
{
    if (!tensor_is_vector(n->in[ROW_LOSS_GRAD_DLOSS], 1))
        return "dloss must be one number";
    tensor_like(n->out[0], n->in[ROW_LOSS_GRAD_LOGITS]);
    return row_loss_check(n);
}

void row_loss_grad(struct builder *b, const struct node *n, const struct op *grad,
                   struct tensor *other)
{
    struct tensor *z = n->in[ROW_LOSS_LOGITS];
    struct tensor *in[] = {
        [ROW_LOSS_GRAD_LOGITS] = z,
        [ROW_LOSS_GRAD_LABELS] = n->in[ROW_LOSS_LABELS],
        [ROW_LOSS_GRAD_DLOSS] = grad_of(b, n->out[ROW_LOSS_LOSS]),
        [ROW_LOSS_GRAD_SUMS] = n->out[ROW_LOSS_SUMS],
        [ROW_LOSS_GRAD_OTHER] = other,
    };

    grad_add(b, z, node(b, grad, n->layer, n->attrs, in, other ? 5 : 4));
}

struct row_labels row_labels_of(const struct tensor *t, const void *labels, int ignore)
{
    bool pixels = t->dtype == DTYPE_U8;

    return (struct row_labels){.image = pixels ? NULL : labels,
                               .pixel = pixels ? labels : NULL,
                               .ignore = ignore};
}

int row_label_checked(const struct row_labels *l, int64_t i, int64_t classes)
{
    int y = row_label(l, i);

    if (y >= classes || y < -1)
        BUG("label %d of %lld classes", y, (long long)classes);
    return y;
}
