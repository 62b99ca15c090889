/*
 * Explicit backward pass: walks the forward nodes from last to first, and each op appends
 * its gradient nodes (phase BACKWARD) to the same list. Gradients of parameters become
 * roots in MEMORY_GRADS at the parameter's offset; an unused parameter keeps a zero
 * gradient. Nodes without a trainable parameter among their sources get no gradient
 * nodes. An input marked as trainable (in tests) gets its gradient in MEMORY_OUTPUT.
 */
#ifndef GRAPH_AUTODIFF_H
#define GRAPH_AUTODIFF_H

#include "graph/graph.h"

/* `seed` is the gradient of `loss` (one element, fp32): the loss scale. */
void autodiff(struct builder *b, struct tensor *loss, struct tensor *seed);

/*
 * Same with all gradients placed `pos` bytes later in MEMORY_GRADS: one backward phase for
 * each of several losses of one forward part. tensor->grad of a parameter is that of the
 * last phase that reaches it.
 */
void autodiff_at(struct builder *b, struct tensor *loss, struct tensor *seed, size_t pos);

/*
 * Returns the gradient of the sum of `y` times `seed` (of the same shape) with respect to
 * `x`, a result of a forward node, or NULL if y does not depend on x. No parameter gets a
 * gradient, and nothing before `x` is differentiated; the graph need not be for training.
 */
struct tensor *autodiff_between(struct builder *b, struct tensor *y, struct tensor *seed,
                                struct tensor *x);

/* For op->grad only. */
struct tensor *grad_of(struct builder *b, const struct tensor *t); /* NULL: no
                                                                    * contribution */
bool grad_wanted(const struct tensor *t);
void grad_add(struct builder *b, struct tensor *t, struct tensor *gradient);

#endif
