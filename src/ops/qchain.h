/*
 * Ops that may follow an int8 layer within one region: a shortcut, a ReLU, and the
 * quantization for the next layers, each reading the previous result.
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
    struct node *layer, *add, *relu, *quantize; /* NULL if absent; layer is always
                                                 * present */
    struct tensor *other;                       /* the shortcut, or NULL */
    struct tensor *last;                        /* floats, after the add and the ReLU */
};

/* Finds the chain that ends with n, of free nodes. Returns false if there is none; *c is
 * then undefined. */
bool qchain_find(struct qchain *c, const struct graph *g, struct node *n);

/* For a claim: returns NULL, or why a kernel that needs stored parameters and fp32 around
 * them must decline. */
const char *qchain_decline(const struct qchain *c);

/* Reads and writes of its region beyond the layer's own inputs. */
struct qchain_slots {
    int add, scale;    /* index of the read, or -1: the shortcut, the scale of the next
                        * layers */
    int floats, bytes; /* index of the write, or -1 */
    bool relu, is_unsigned;
};

/* Takes its nodes; call after the layer's inputs have been read. */
void qchain_claim(struct region *r, const struct qchain *c);
struct qchain_slots qchain_slots(struct region *r, struct graph *g,
                                 const struct qchain *c);

#ifdef __cplusplus
}
#endif

#endif
