/* Values made from values: what mappings of several steps are composed of. All return some
 * value after a refusal. */
#ifndef PT2_COMPOSE_H
#define PT2_COMPOSE_H

#include "ops/expr.h"
#include "pt2/place.h"

/* ---- pt2/map_unary.c ---- */

/* A function of each element; `number` is the instruction's. */
struct pt2_value pt2_apply(struct pt2_import *c, const struct pt2_value *x,
                           enum expr_opcode opcode, double number);
/* The same as the result of the current node. */
void pt2_map_one(struct pt2_import *c, const struct pt2_value *self,
                 enum expr_opcode opcode, double number);

/* ---- pt2/map_pointwise.c ---- */

/* A function of two values that broadcast. */
struct pt2_value pt2_combine(struct pt2_import *c, enum expr_opcode opcode,
                             const struct pt2_value *x, const struct pt2_value *y);
struct pt2_value pt2_sum(struct pt2_import *c, const struct pt2_value *x,
                         const struct pt2_value *y);
struct pt2_value pt2_times(struct pt2_import *c, const struct pt2_value *x,
                           const struct pt2_value *y);

/* ---- pt2/map_pool.c ---- */

/* The mean over the last dim, which stays with size 1. */
struct pt2_value pt2_mean_last(struct pt2_import *c, const struct pt2_value *x);

/* ---- pt2/map_norms.c ---- */

/* (x - mean) / sqrt(var + eps) over the last n dims. */
struct pt2_value pt2_normalized(struct pt2_import *c, const struct pt2_value *x, int n,
                                double eps);

/* ---- pt2/map_matmul.c ---- */

/* alpha a b of matrices [...,rows,columns], as [p,q,rows,columns]; the result is stored next to
 * the tokens if b is. */
struct pt2_value pt2_multiply(struct pt2_import *c, struct pt2_value a,
                              struct pt2_value b, double alpha);

/* The product of rows [...,K] and a matrix [K,M]. */
struct pt2_value pt2_product(struct pt2_import *c, const struct pt2_value *x,
                             const struct pt2_value *matrix);

/* ---- pt2/map_layers.c ---- */

/* A linear layer: rows [...,K] times w [M,K], transposed, plus a bias [M] or NULL. */
struct pt2_value pt2_affine(struct pt2_import *c, const struct pt2_value *x,
                            const struct pt2_value *w, const struct pt2_value *bias);

/* ---- pt2/map_join.c ---- */

/* Joins n > 1 tensors along dim d. */
struct pt2_value pt2_joined(struct pt2_import *c, struct pt2_value **v, int n, int d);

#endif
