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

/* For a claim: NULL, or why no kernel takes it that wants its parameters as they are stored,
 * and fp32 around them. */
const char *qchain_decline(const struct qchain *c);

/* What a region of it reads and writes beside the layer's own inputs. */
struct qchain_slots {
    int add, scale;    /* reads, or -1: the shortcut, the scale of the next layers */
    int floats, bytes; /* writes, or -1 */
    bool relu, is_unsigned;
};

/* Takes its nodes; once the layer's inputs are read, the rest. */
void qchain_take(struct region *r, const struct qchain *c);
struct qchain_slots qchain_slots(struct region *r, struct graph *g,
                                 const struct qchain *c);

#ifdef __cplusplus
}
#endif

#endif
