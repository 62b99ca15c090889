#include "cuda/head_find.h"

#include "cuda/weights.h"
#include "ops/bias_grad.h"
#include "ops/cast.h"
#include "ops/confusion.h"
#include "ops/conv2d.h"
#include "ops/cross_entropy2d.h"
#include "ops/image.h"

const char head_not_found[] =
    "no logits of a 2x2 transposed convolution of 16 channels that only their loss reads";

/* Returns t, or the output of a cast that is its only reader. */
static struct tensor *cast_output(const struct graph *g, struct tensor *t,
                                  struct node **cast)
{
    struct node *n = tensor_only_reader(g, t);

    *cast = n && n->op == &op_cast ? n : NULL;
    return *cast ? n->out[0] : t;
}

static bool is_head(const struct node *up)
{
    const struct conv2d_attrs *a = up->attrs;
    const struct tensor *x = up->in[CONV2D_DATA_GRAD_DY], *z = up->out[0];

    return a->kernel_h == 2 && a->kernel_w == 2 && a->stride_h == 2 && a->stride_w == 2 &&
           !a->pad_h && !a->pad_w && a->groups == 1 && x->dim[IMAGE_C] == HEAD_CHANNELS &&
           z->dim[IMAGE_C] <= HEAD_CLASSES && z->dim[IMAGE_H] == 2 * x->dim[IMAGE_H] &&
           z->dim[IMAGE_W] == 2 * x->dim[IMAGE_W] && z->dtype == x->dtype && !z->root &&
           tensor_len(x) / HEAD_CHANNELS <= INT32_MAX;
}

/* Finds the readers of the logits; returns false if one needs them stored. */
static bool find_readers(struct head_parts *p, const struct graph *g)
{
    struct node *n;

    for (int i = 0; (n = tensor_reader(g, p->z, i)); i++) {
        struct node **dst = n->op == &op_cross_entropy2d        ? &p->loss
                            : n->op == &op_cross_entropy2d_grad ? &p->grad
                            : n->op == &op_confusion            ? &p->confusion
                                                                : NULL;

        if (!dst || *dst)
            return false;
        *dst = n;
    }
    return !p->z->root && p->z->dtype == DTYPE_F32 && p->loss;
}

/* Finds the readers of dz, as is or cast; returns false if one needs it stored. */
static bool find_dz_readers(struct head_parts *p, const struct graph *g,
                            struct tensor *dz)
{
    struct node *n;

    for (int i = 0; (n = tensor_reader(g, dz, i)); i++) {
        struct node **dst = n->op == &op_conv2d               ? &p->dx
                            : n->op == &op_conv2d_weight_grad ? &p->dw
                            : n->op == &op_bias_grad          ? &p->db
                            : n->op == &op_cast               ? &p->dz_cast
                                                              : NULL;

        if (!dst || *dst || !node_free(n))
            return false;
        *dst = n;
        if (n == p->dz_cast && !find_dz_readers(p, g, n->out[0]))
            return false;
    }
    return !dz->root;
}

bool head_find_gradients(struct head_parts *p, const struct graph *g)
{
    return node_free(p->grad) && find_dz_readers(p, g, p->grad->out[0]) && p->dx &&
           p->dw && p->dx->in[CONV2D_X] == p->dw->in[CONV2D_WEIGHT_GRAD_X] &&
           p->dx->nin == CONV2D_BIAS &&
           cuda_weights_master(p->dx->in[CONV2D_WEIGHT]) == p->w &&
           p->dx->out[0]->dtype == p->x->dtype &&
           p->dw->in[CONV2D_WEIGHT_GRAD_DY] == p->x &&
           p->dw->out[0]->dtype == DTYPE_F32 && !p->db == !p->bias;
}

bool head_find(struct head_parts *p, const struct graph *g, struct node *up)
{
    *p = (struct head_parts){0};
    if (!up || up->op != &op_conv2d_data_grad || !node_free(up) || !is_head(up))
        return false;
    p->up = up;
    p->x = up->in[CONV2D_DATA_GRAD_DY];
    p->w = cuda_weights_master(up->in[CONV2D_DATA_GRAD_WEIGHT]);
    p->bias = up->nin > CONV2D_DATA_GRAD_BIAS ? up->in[CONV2D_DATA_GRAD_BIAS] : NULL;
    p->z = cast_output(g, up->out[0], &p->z_cast);
    return p->w && (!p->bias || p->bias->dtype == DTYPE_F32) && find_readers(p, g);
}

struct node *head_of_logits(const struct tensor *t)
{
    struct node *n = t->producer;

    return n && n->op == &op_cast ? n->in[CAST_X]->producer : n;
}

struct node *head_of_gradient(const struct node *n)
{
    const struct tensor *dz = n->in[n->op == &op_bias_grad ? BIAS_GRAD_DY : 0];
    const struct node *grad = dz->producer;

    if (grad && grad->op == &op_cast)
        grad = grad->in[CAST_X]->producer;
    return grad && grad->op == &op_cross_entropy2d_grad
               ? head_of_logits(grad->in[CROSS_ENTROPY2D_GRAD_LOGITS])
               : NULL;
}
