/*
 * What may follow a layer in 8 bits within one region: a shortcut, a ReLU and the
 * quantisation for the next layers, each of which reads the one before.
 *
 *   qconv2d or qlinear [add] [relu] [quantize]
 */
#ifndef OPS_QCHAIN_H
#define OPS_QCHAIN_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct qchain {
    struct node *layer, *add, *relu, *quantize; /* NULL: there is none; layer: always */
    struct tensor *other;                       /* the shortcut, or NULL */
    struct tensor *last;                        /* floats, after the add and the ReLU */
};

/* The chain that ends with n, of free nodes. False: there is none; *c is not to be used. */
bool qchain_find(struct qchain *c, const struct graph *g, struct node *n);

#ifdef __cplusplus
}
#endif

#endif
