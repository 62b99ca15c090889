/*
 * The optimizers: a row each, and the node that every one of them is. Arrays and segments
 * are in ops/update.h, the arithmetic in a header for each formula.
 *
 *   const struct optimizer *o = optimizer_find("adamw");
 *   struct hyperparameters h = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
 *   optimizer_node(b, o, &update, &h, grads, control, state);
 *
 * A new optimizer is a row in ops/optimizer_table.c and, if its arithmetic is new, a
 * formula (ops/optimizer_list.h says what belongs to one). Nothing else names it: the
 * reference, the loops of the CPU and the kernels of CUDA are made from the list.
 */
#ifndef OPS_OPTIMIZER_H
#define OPS_OPTIMIZER_H

#include "base/names.h"
#include "graph/graph.h"
#include "ops/update.h"

#ifdef __cplusplus
extern "C" {
#endif

struct strbuf;

enum { OPTIMIZER_MOMENTS = 2, OPTIMIZER_STATES = UPDATE_MOMENT1 + OPTIMIZER_MOMENTS };

struct optimizer {
    const char *name; /* TRAIN.OPTIMIZER.NAME, any case; how checkpoints spell it */
    const char *help;
    const struct op *op;
    bool decoupled; /* of optimizer_attrs */
    bool adaptive;  /* its steps do not shrink with the gradient: where that is exactly 0,
                     * a rounding error in its place becomes a step */
    bool trust;     /* a ratio of norms per tensor: no tensor is cut between processes */
    bool momentum;  /* without a momentum it has no moment */
    /* As PyTorch's state dict calls them, state[UPDATE_MOMENT1] first; NULL: none. */
    const char *moment[OPTIMIZER_MOMENTS];
    int flops; /* of an element */
    /* The keys of TRAIN.OPTIMIZER that it reads, NULL at the end. Those of other rows are
     * told to have no effect. */
    const char *const *reads;
    /* The values that its authors recommend where the configuration's default differs, up
     * to a NULL; may be NULL. A run that keeps the default gets a warning. */
    const struct optimizer_usual {
        const char *key, *value;
    } * usual;
};

/* Ends with a row without a name; in the order of the help. */
extern const struct optimizer optimizer_table[];

/* NULL: there is no such optimizer. */
const struct optimizer *optimizer_find(const char *name);

extern const struct names optimizer_names;

/* How many of o->moment there are: 0 to OPTIMIZER_MOMENTS. */
int optimizer_moments(const struct optimizer *o, const struct hyperparameters *h);

/* state: weights, then the moments. u->segment is not copied: it lives as long as the
 * graph. Hyperparameters that make no sense end the program. */
void optimizer_node(struct builder *b, const struct optimizer *o, const struct update *u,
                    const struct hyperparameters *h, struct tensor *grads,
                    struct tensor *control, struct tensor *const *state);

/* The attributes of an optimizer's node; NULL: n is something else. */
const struct optimizer_attrs *optimizer_attrs(const struct node *n);

/* For the ops: shape and flops. */
const char *optimizer_shape(struct node *n);
int64_t optimizer_flops(const struct node *n);

#ifdef __cplusplus
}
#endif

#endif
