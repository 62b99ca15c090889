/*
 * dropout: keeps each element with probability 1 - rate and divides it by that.
 * dropout2d: same for whole channels of a sample (Tompson et al. 2015, arXiv 1411.4280).
 * drop_path: same for whole samples (stochastic depth, Huang et al. 2016, arXiv
 * 1603.09382).
 *
 * Masks are not stored: they are functions of (control.seed, control.micro, layer,
 * element of the batch of all processes); see ops/dropout_formula.h and ops/share.h. The
 * gradient is therefore the same op on dy. x's first dim is the images. Outside training,
 * or with rate 0, all return x itself.
 */
#ifndef OPS_DROPOUT_H
#define OPS_DROPOUT_H

#include "graph/graph.h"
#include "ops/share.h"

struct dropout_attrs {
    const char *layer;
    float rate; /* in [0, 1) */
    int salt;   /* set by the builder: a hash of the layer's name */
    struct share share; /* set by the builder: of the images */
};

enum { DROPOUT_X, DROPOUT_CONTROL }; /* all three ops */

/* x = dropout(&b, x, "head_drop", .rate = 0.1f) */
#define dropout(b, x, ...)                                                               \
    dropout_((b), (x), &op_dropout, &(const struct dropout_attrs){.layer = __VA_ARGS__})
#define dropout2d(b, x, ...)                                                             \
    dropout_((b), (x), &op_dropout2d, &(const struct dropout_attrs){.layer = __VA_ARGS__})
#define drop_path(b, x, ...)                                                             \
    dropout_((b), (x), &op_drop_path, &(const struct dropout_attrs){.layer = __VA_ARGS__})
struct tensor *dropout_(struct builder *b, struct tensor *x, const struct op *op,
                        const struct dropout_attrs *a);

extern const struct op op_dropout, op_dropout2d, op_drop_path;

/* Returns the salt of a layer's name, for other ops that draw a mask. */
int dropout_salt(const char *layer);

#endif
