/*
 * Flat state: all parameters are in one fp32 array, in *reverse* order of creation (the
 * order in which the backward phase finishes gradients), frozen ones after trained ones
 * (graph_hold() keeps a parameter in the trained part), buffers after both. Gradients,
 * moments, and EMA have the offsets of the weights, except packed gradients
 * (ops/half_grads.h). Gradients and moments cover the trained part only. Every tensor starts at a multiple of 64 bytes; the
 * gaps are zero and stay zero.
 *
 * Constants, the weights of a second net that only helps in training (builder.layer_prefix),
 * follow: no other array and no other program includes them.
 *
 * Of a parameter with shards (tensor.shards) a process stores its own part. Such parameters
 * come last among the trained ones, so that all gradients that processes average are one
 * range. graph.whole is the layout that the model has in a single process: its tensors are
 * copies, with the same id and all their dims.
 *
 * Two graphs of one model (train and eval, any batch size) have the same layout if the
 * same parameters are frozen in both.
 */
#ifndef GRAPH_FLAT_H
#define GRAPH_FLAT_H

#include "graph/graph.h"

struct segment {
    struct tensor *tensor; /* a parameter or a buffer */
    int64_t offset, len;   /* elements of the flat array */
};

struct flat {
    struct segment *segment;
    int nsegment;
    int ntrained;         /* segments [0, ntrained) are trained parameters, */
    int nparam;           /* [0, nparam) all parameters, the rest buffers */
    int64_t trained_len;  /* elements of the trained part, with gaps */
    int64_t param_len;    /* elements of all parameters with gaps: buffers start here */
    int64_t weights_len;  /* elements of parameters and buffers with gaps */
    int64_t constant_len; /* elements of constants, which follow, with gaps */
    int nconstant;        /* segments [nsegment, nsegment + nconstant) are constants */
    int64_t shared_len;   /* elements of trained parameters without shards, with gaps */
};

/* Call once, after the forward part is built and before autodiff. */
void graph_flatten(struct graph *g);

void flat_free(struct flat *f); /* may be NULL */

/* True if both have the same names at the same places. */
bool flat_same(const struct flat *a, const struct flat *b);

#endif
