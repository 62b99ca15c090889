/*
 * A convolution and what a kernel may do on its results before it stores them:
 *
 *   conv2d [batchnorm_inference] [add] [relu]
 *
 * The batch norm goes into weights and bias (weights_fold()); each link is the one reader
 * of the one before.
 */
#ifndef CPU_CONV_CHAIN_H
#define CPU_CONV_CHAIN_H

#include "graph/kernel.h"

struct conv_chain {
    struct node *conv, *bn, *add, *relu; /* NULL, but for conv: there is none */
    struct tensor *other;                /* what add adds to the convolution */
};

/* The chain that ends with n; false: n ends none. */
bool conv_chain_find(struct conv_chain *f, const struct graph *g, struct node *n);
void conv_chain_take(struct region *r, const struct conv_chain *f);

#endif
