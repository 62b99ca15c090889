/* Splits batch norms into parts: a graph edit for backends whose kernels fuse the parts. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/image.h"
#include "ops/lower.h"

static struct batchnorm_part_attrs part_attrs(const struct node *n,
                                              const struct tensor *x)
{
    return (struct batchnorm_part_attrs){
        .layer = n->layer,
        .eps = ((const struct batchnorm_attrs *)n->attrs)->eps,
        .count = tensor_len(x) / x->dim[IMAGE_C],
    };
}

/* Replaces x and y by their means over the processes that share statistics with n. */
static void lower_sync(struct builder *b, const struct node *n, struct tensor **x,
                       struct tensor **y)
{
    struct batchnorm_sync_attrs a = {
        n->layer, ((const struct batchnorm_attrs *)n->attrs)->group};
    struct tensor *in[] = {*x, *y}, **out;

    if (!a.group)
        return;
    out = node(b, &op_batchnorm_sync, n->layer, &a, in, 2)->producer->out;
    *x = out[0];
    *y = out[1];
}

static void lower_apply(struct builder *b, const struct node *n, struct tensor *scale,
                        struct tensor *shift)
{
    struct tensor *in[] = {[BATCHNORM_APPLY_X] = n->in[BATCHNORM_X],
                           [BATCHNORM_APPLY_SCALE] = scale,
                           [BATCHNORM_APPLY_SHIFT] = shift};

    lower_adopt(node(b, &op_batchnorm_apply, n->layer, NULL, in, 3)->producer, 0,
                n->out[BATCHNORM_Y]);
}

static void lower_training(struct builder *b, const struct node *n)
{
    struct tensor *x = n->in[BATCHNORM_X];
    struct batchnorm_part_attrs a = part_attrs(n, x);
    struct tensor **sums =
        node(b, &op_batchnorm_stats, n->layer, NULL, &x, 1)->producer->out;
    struct tensor *in[] = {
        [BATCHNORM_FINALIZE_SUM] = sums[BATCHNORM_STATS_SUM],
        [BATCHNORM_FINALIZE_SQUARES] = sums[BATCHNORM_STATS_SQUARES],
        [BATCHNORM_FINALIZE_WEIGHT] = n->in[BATCHNORM_WEIGHT],
        [BATCHNORM_FINALIZE_BIAS] = n->in[BATCHNORM_BIAS],
    };
    struct node *f;

    lower_sync(b, n, &in[BATCHNORM_FINALIZE_SUM], &in[BATCHNORM_FINALIZE_SQUARES]);
    f = node(b, &op_batchnorm_finalize, n->layer, &a, in, 4)->producer;
    lower_adopt(f, BATCHNORM_FINALIZE_MEAN, n->out[BATCHNORM_MEAN]);
    lower_adopt(f, BATCHNORM_FINALIZE_VAR, n->out[BATCHNORM_VAR]);
    lower_apply(b, n, f->out[BATCHNORM_FINALIZE_SCALE], f->out[BATCHNORM_FINALIZE_SHIFT]);
}

static void lower_inference(struct builder *b, const struct node *n)
{
    struct batchnorm_part_attrs a = part_attrs(n, n->in[BATCHNORM_X]);
    struct tensor *in[] = {
        [BATCHNORM_FOLD_WEIGHT] = n->in[BATCHNORM_WEIGHT],
        [BATCHNORM_FOLD_BIAS] = n->in[BATCHNORM_BIAS],
        [BATCHNORM_FOLD_MEAN] = n->in[BATCHNORM_INFERENCE_MEAN],
        [BATCHNORM_FOLD_VAR] = n->in[BATCHNORM_INFERENCE_VAR],
    };
    struct tensor **fold =
        node(b, &op_batchnorm_fold, n->layer, &a, in, 4)->producer->out;

    lower_apply(b, n, fold[BATCHNORM_FOLD_SCALE], fold[BATCHNORM_FOLD_SHIFT]);
}

static void lower_grad(struct builder *b, const struct node *n)
{
    const struct node *f = n->in[BATCHNORM_GRAD_VAR]->producer;

    if (!f || f->op != &op_batchnorm_finalize)
        BUG("'%s': its batch norm was not lowered", n->layer);

    struct tensor *x = n->in[BATCHNORM_GRAD_X], *dy = n->in[BATCHNORM_GRAD_DY];
    struct tensor *in[] = {
        [BATCHNORM_GRAD_STATS_X] = x,
        [BATCHNORM_GRAD_STATS_WEIGHT] = n->in[BATCHNORM_GRAD_WEIGHT],
        [BATCHNORM_GRAD_STATS_MEAN] = n->in[BATCHNORM_GRAD_MEAN],
        [BATCHNORM_GRAD_STATS_RSTD] = f->out[BATCHNORM_FINALIZE_RSTD],
        [BATCHNORM_GRAD_STATS_DY] = dy,
    };
    struct node *s = node(b, &op_batchnorm_grad_stats, n->layer, NULL, in, 5)->producer;
    struct tensor *apply[] = {
        [BATCHNORM_GRAD_APPLY_X] = x,
        [BATCHNORM_GRAD_APPLY_DY] = dy,
        [BATCHNORM_GRAD_APPLY_DY_SCALE] = s->out[BATCHNORM_GRAD_STATS_DY_SCALE],
        [BATCHNORM_GRAD_APPLY_X_SCALE] = s->out[BATCHNORM_GRAD_STATS_X_SCALE],
        [BATCHNORM_GRAD_APPLY_OFFSET] = s->out[BATCHNORM_GRAD_STATS_OFFSET],
    };

    lower_sync(b, n, &apply[BATCHNORM_GRAD_APPLY_X_SCALE],
               &apply[BATCHNORM_GRAD_APPLY_OFFSET]);
    lower_adopt(s, BATCHNORM_GRAD_STATS_DWEIGHT, n->out[BATCHNORM_GRAD_DWEIGHT]);
    lower_adopt(s, BATCHNORM_GRAD_STATS_DBIAS, n->out[BATCHNORM_GRAD_DBIAS]);
    lower_adopt(node(b, &op_batchnorm_grad_apply, n->layer, NULL, apply, 5)->producer, 0,
                n->out[BATCHNORM_GRAD_DX]);
}

typedef void lower_fn(struct builder *b, const struct node *n);

static lower_fn *lower_of(const struct op *op)
{
    return op == &op_batchnorm             ? lower_training
           : op == &op_batchnorm_inference ? lower_inference
           : op == &op_batchnorm_grad      ? lower_grad
                                           : NULL;
}

static bool has_batchnorm(const struct graph *g)
{
    for (int i = 0; i < g->nnode; i++)
        if (lower_of(g->node[i]->op))
            return true;
    return false;
}

void batchnorm_lower(struct graph *g)
{
    struct node **old = g->node;
    int nold = g->nnode;

    if (!has_batchnorm(g))
        return;
    g->node = NULL; /* rebuilt with the parts */
    g->nnode = g->node_cap = 0;
    for (int i = 0; i < nold; i++) {
        struct node *n = old[i];
        struct builder b = {.g = g, .phase = n->phase, .scope = n->scope};
        lower_fn *lower = lower_of(n->op);

        if (lower) {
            lower(&b, n);
            continue;
        }
        n->index = g->nnode;
        GROW(g->node, g->nnode, g->node_cap);
        g->node[g->nnode++] = n;
    }
    graph_changed(g);
    free(old);
}
