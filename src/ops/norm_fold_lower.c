/* Folds batch norms into the 1x1 convolutions before them: a graph edit before autodiff. */
#include <stdlib.h>

#include "base/alloc.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm_parts.h"
#include "ops/conv2d.h"
#include "ops/dropout.h"
#include "ops/gram.h"
#include "ops/image.h"
#include "ops/lower.h"
#include "ops/norm_fold.h"

static bool is_plain_1x1(const struct node *n)
{
    const struct conv2d_attrs *a = n->attrs;

    return n->op == &op_conv2d && n->nin == CONV2D_BIAS && a->groups == 1 &&
           a->kernel_h == 1 && a->kernel_w == 1 && a->stride_h == 1 && a->stride_w == 1 &&
           !a->pad_h && !a->pad_w && !a->extra_h && !a->extra_w &&
           n->in[CONV2D_WEIGHT]->kind == TENSOR_PARAM;
}

/* True if t ends a residual branch: [drop path,] add, and relu are its only readers. */
static bool ends_branch(const struct graph *g, const struct tensor *t)
{
    const struct node *n = tensor_only_reader(g, t);

    if (n && n->op == &op_drop_path)
        n = tensor_only_reader(g, n->out[0]);
    if (!n || n->op != &op_add)
        return false;
    n = tensor_only_reader(g, n->out[0]);
    return n && is_relu(n);
}

/* Returns the convolution that batch norm `bn` is folded into, or NULL. */
static struct node *foldable(const struct graph *g, const struct node *bn)
{
    struct node *conv = bn->in[BATCHNORM_X]->producer;

    return bn->op == &op_batchnorm && conv && is_plain_1x1(conv) &&
                   conv->scope == bn->scope &&
                   tensor_only_reader(g, conv->out[0]) == bn &&
                   ends_branch(g, bn->out[BATCHNORM_Y])
               ? conv
               : NULL;
}

static struct norm_fold_layer layer_of(const struct node *conv, enum dtype type)
{
    const struct tensor *x = conv->in[CONV2D_X];
    int64_t in = x->dim[IMAGE_C];

    return (struct norm_fold_layer){tensor_len(x) / in, in, conv->out[0]->dim[IMAGE_C],
                                    type};
}

/* Replaces both moments by their means over the processes that share statistics. */
static struct tensor **synced(struct builder *b, const struct node *bn,
                              struct tensor **moments)
{
    struct batchnorm_sync_attrs a = {bn->layer,
                                     ((const struct batchnorm_attrs *)bn->attrs)->group};

    return a.group ? node(b, &op_batchnorm_sync, bn->layer, &a, moments, 2)->producer->out
                   : moments;
}

static void fold(struct builder *b, const struct node *conv, const struct node *bn)
{
    struct conv2d_attrs wide = *(const struct conv2d_attrs *)conv->attrs;
    struct tensor *x = conv->in[CONV2D_X];
    struct tensor **moments = synced(b, bn, gram(b, x, conv->layer));
    struct tensor *in[] = {
        [NORM_FOLD_W] = conv->in[CONV2D_WEIGHT],
        [NORM_FOLD_WEIGHT] = bn->in[BATCHNORM_WEIGHT],
        [NORM_FOLD_BIAS] = bn->in[BATCHNORM_BIAS],
        [NORM_FOLD_GRAM] = moments[GRAM_GRAM],
        [NORM_FOLD_SUM] = moments[GRAM_SUM],
    };
    struct norm_fold_attrs a = {.norm = *(const struct batchnorm_attrs *)bn->attrs,
                                .count = tensor_len(x) / x->dim[IMAGE_C]};
    struct node *f;

    a.norm.layer = conv->layer;
    f = node(b, &op_norm_fold, conv->layer, &a, in, 5)->producer;
    lower_adopt(f, NORM_FOLD_MEAN, bn->out[BATCHNORM_MEAN]);
    lower_adopt(f, NORM_FOLD_VAR, bn->out[BATCHNORM_VAR]);
    wide.bias = 1;

    struct tensor *with_bias[] = {[CONV2D_X] = x,
                                  [CONV2D_WEIGHT] = f->out[NORM_FOLD_FOLDED],
                                  [CONV2D_BIAS] = f->out[NORM_FOLD_SHIFT]};

    lower_adopt(node(b, &op_conv2d, conv->layer, &wide, with_bias, 3)->producer, 0,
                bn->out[BATCHNORM_Y]);
}

/* Returns for each node that is folded its convolution; of the convolution, itself. */
static struct node **choose(const struct graph *g, enum dtype type,
                            norm_fold_pays_fn *pays, void *arg, int *n)
{
    struct node **target = xcalloc((size_t)g->nnode + 1, sizeof(struct node *));

    *n = 0;
    for (int i = 0; i < g->nnode; i++) {
        struct node *conv = foldable(g, g->node[i]);
        struct norm_fold_layer l;

        if (!conv)
            continue;
        l = layer_of(conv, type);
        if (!pays(arg, &l))
            continue;
        target[i] = target[conv->index] = conv;
        ++*n;
    }
    return target;
}

int norm_fold_lower(struct graph *g, enum dtype type, norm_fold_pays_fn *pays, void *arg)
{
    struct node **old = g->node, **target;
    int nold = g->nnode, folded;

    target = choose(g, type, pays, arg, &folded);
    if (folded) {
        g->node = NULL; /* rebuilt */
        g->nnode = g->node_cap = 0;
        for (int i = 0; i < nold; i++) {
            struct builder b = {.g = g, .phase = old[i]->phase, .scope = old[i]->scope};

            if (target[i] && target[i] != old[i])
                fold(&b, target[i], old[i]);
            if (target[i])
                continue;
            old[i]->index = g->nnode;
            GROW(g->node, g->nnode, g->node_cap);
            g->node[g->nnode++] = old[i];
        }
        graph_changed(g);
        free(old);
    }
    free(target);
    return folded;
}
