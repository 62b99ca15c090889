/*
 * The optimizers: a row each, and the node of each. Arrays and segments are in
 * ops/update.h, the arithmetic in one header per formula.
 *
 *   const struct optimizer *o = optimizer_find("adamw");
 *   struct hyperparameters h = {.beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8};
 *   optimizer_node(b, o, &update, &h, grads, control, state);
 *
 * A new optimizer is a row in ops/optimizer_table.c and, if its arithmetic is new, a
 * formula (see ops/optimizer_list.h). The reference, the CPU loops, and the CUDA kernels
 * are generated from the list.
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
    const char *name; /* TRAIN.OPTIMIZER.NAME, any case; spelled so in checkpoints */
    const char *help;
    const struct op *op;
    bool decoupled; /* of optimizer_attrs */
    bool adaptive;  /* its steps do not shrink with the gradient: a rounding error in
                     * place of a gradient of exactly 0 would become a step */
    bool trust;     /* one ratio of norms per tensor: tensors are not split between
                     * processes */
    bool momentum;  /* without momentum it has no moment */
    /* Names in PyTorch's state dict, state[UPDATE_MOMENT1] first; NULL: absent. */
    const char *moment[OPTIMIZER_MOMENTS];
    int flops; /* per element */
    /* The keys of TRAIN.OPTIMIZER that it reads, ended by NULL. Keys of other rows are
     * reported to have no effect. */
    const char *const *reads;
    /* Values recommended by its authors where the configuration's default differs, ended
     * by a NULL; may be NULL. A run that keeps the default gets a warning. */
    const struct optimizer_usual {
        const char *key, *value;
    } * usual;
};

/* Ended by a row without a name; in the order of the help. */
extern const struct optimizer optimizer_table[];

/* Returns NULL if there is no such optimizer. */
const struct optimizer *optimizer_find(const char *name);

extern const struct names optimizer_names;

/* Returns the number of moments: 0 to OPTIMIZER_MOMENTS. */
int optimizer_moments(const struct optimizer *o, const struct hyperparameters *h);

/* state: weights, then the moments. u->segment is not copied and must outlive the graph.
 * Invalid hyperparameters end the program. */
void optimizer_node(struct builder *b, const struct optimizer *o, const struct update *u,
                    const struct hyperparameters *h, struct tensor *grads,
                    struct tensor *control, struct tensor *const *state);

/* Returns the attributes of an optimizer's node, or NULL for any other node. */
const struct optimizer_attrs *optimizer_attrs(const struct node *n);

/* For the ops: shape and flops. */
const char *optimizer_shape(struct node *n);
int64_t optimizer_flops(const struct node *n);

#ifdef __cplusplus
}
#endif

#endif
