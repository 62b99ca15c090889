/*
 * A convolution or linear layer and the ops that a kernel may apply to its results before
 * it stores them:
 *
 *   conv2d [batchnorm_inference or layer_scale] [add] [activation]
 *
 * The batch norm or scale is folded into weights and bias (weights_fold()); each op is
 * the only reader of the previous one, or of a view of it.
 */
#ifndef CPU_CONV_CHAIN_H
#define CPU_CONV_CHAIN_H

#include "graph/kernel.h"

struct conv_chain {
    struct node *conv, *fold, *add, *act; /* NULL if absent; conv is always there */
    struct tensor *other;                 /* the other input of add */
};

/* Finds the chain that ends with n; returns false if there is none. */
bool conv_chain_find(struct conv_chain *f, const struct graph *g, struct node *n);
void conv_chain_claim(struct region *r, const struct conv_chain *f);

#endif
