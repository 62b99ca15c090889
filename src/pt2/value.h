/*
 * A value of an exported program during its import: a tensor of the graph, seen through
 * dims in PyTorch's order with a stride each, in elements of the tensor's memory. Images
 * are stored channels last, so most permutations and many reshapes only change the dims
 * and strides; what does not fit an operand is copied (pt2/place.h).
 *
 * The functions here are arithmetic: they add no nodes.
 */
#ifndef PT2_VALUE_H
#define PT2_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"
#include "pt2/program.h"

enum pt2_value_kind {
    PT2_VALUE_TENSOR,
    PT2_VALUE_CONSTANT, /* numbers on the host (pt2/host.h) */
    PT2_VALUE_NUMBER,   /* an integer, such as a size */
    PT2_VALUE_VOID,     /* without elements */
    PT2_VALUE_EMPTY,    /* uninitialized, for a mask */
    PT2_VALUE_MASK      /* per sample: 1 with probability `keep`, times `scale` */
};

struct pt2_host;

struct pt2_value {
    enum pt2_value_kind kind;
    struct tensor *t;      /* of a tensor */
    struct pt2_host *host; /* of a constant */
    int ndim;
    int64_t dim[PT2_DIMS], stride[PT2_DIMS], offset;
    int memory;      /* values that may share memory in PyTorch have the same number */
    bool maybe_copy; /* by an operator that copies if PyTorch's strides require it */
    int64_t number;
    double keep, scale;
    struct pt2_value
        *shown; /* a constant as a tensor of the graph; NULL if it is none yet */
    int shown_writes;
};

int64_t pt2_value_len(const struct pt2_value *v); /* elements */
/* False if there are more elements than any tensor should have, or none. */
bool pt2_value_fits(const struct pt2_value *v);

/* Returns a tensor of the graph with its logical dims. */
struct pt2_value pt2_value_of(struct tensor *t);

/* Sets strides such that the dims are stored in the order order[0 .. ndim - 1], outermost
 * first, without gaps. */
void pt2_value_store(struct pt2_value *v, const int *order);

/* True if the elements of v are stored in this order without gaps, from the start of the
 * tensor to its end. */
bool pt2_value_stored(const struct pt2_value *v, const int *order);

/* Gets the order in which the dims are stored, outermost first. Returns false if the
 * values have gaps, repeat, or are not all of the tensor. */
bool pt2_value_order(const struct pt2_value *v, int *order);

/* Changes the dims without moving elements, as PyTorch's view does. Returns false if the
 * strides do not permit that. */
bool pt2_value_view(struct pt2_value *v, int ndim, const int64_t *dim);

/* Moves dim from[i] to position i. */
void pt2_value_permute(struct pt2_value *v, const int *src);

/* Expands to dims that v broadcasts to; dims of size 1 are repeated. Returns false if it
 * does not. */
bool pt2_value_expand(struct pt2_value *v, int ndim, const int64_t *dim);

/* Returns how many elements the tensor or the constant has that v shows. */
int64_t pt2_value_all(const struct pt2_value *v);

/* True if both are the same elements with the same dims. */
bool pt2_value_same(const struct pt2_value *a, const struct pt2_value *b);

/* Positions [from, from + len) of dim d. */
struct pt2_value pt2_value_part(const struct pt2_value *x, int d, int64_t start,
                                int64_t len);

/* Copies n dims; `src` may be NULL if there are none. */
static inline void pt2_dims(int64_t *dst, const int64_t *src, int n)
{
    for (int d = 0; d < n; d++)
        dst[d] = src[d];
}

#endif
