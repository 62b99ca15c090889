/*
 * Residual sums and the nodes around them, which layernorm.cu, layernorm_grad.cu, and
 * residual_sum.cu fuse, so that the sum is read and written once.
 *
 *   forward    sum = branch [* gamma of layer_scale] [* its samples' factors] + other
 *              y = norm(sum)
 *   backward   d = dx of the norm + other      [dropped = d * those factors]
 *
 * All tensors have one type, or the sums are fp32 and the branch, y, their gradients, and
 * `dropped` have 16 bits: then the casts between them are fused, too. With CUDNN.FUSE
 * False nothing is fused.
 */
#ifndef CUDA_RESIDUAL_H
#define CUDA_RESIDUAL_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;
struct region;

extern const struct kernel cuda_residual_sum, cuda_layer_scale_grad;

/* The forward sum of `branch`, which these nodes change, and `other`. */
struct residual {
    struct node *add, *widen, *drop, *scale; /* each but add may be NULL */
    struct tensor *branch, *other;
    int64_t rows; /* per sample, with drop */
};

/* The index of the reads of a residual; of the optional ones, or -1. */
struct residual_reads {
    int other, gamma, control;
};

/*
 * Finds the nodes that produce input `side` of the sum `add`, which is processed in rows of
 * `channels`, from a branch of this type. Returns false if that is not possible: the branch
 * has another type, or is `other`.
 */
bool residual_branch(struct residual *f, const struct graph *g, struct node *add, int side,
                     int64_t channels, enum dtype type);

/*
 * Finds the sum that `norm` reads, whose branch has this type. Returns false if there is
 * none or it cannot be fused.
 */
bool residual_before(struct residual *f, const struct graph *g, const struct node *norm,
                     enum dtype type, const struct device *dev);

/* Takes all nodes and reads all tensors of f, except the branch. */
struct residual_reads residual_claim(struct region *r, const struct residual *f);

/* The backward sum of dx of a norm and `other`. */
struct residual_grad {
    struct node *add, *norm;
    struct node *drop, *round; /* of the sum: either may be NULL */
    struct node *widen;        /* of dy; may be NULL */
    struct tensor *other;
    int64_t rows; /* per sample, with drop */
};

/* Finds the gradient that ends with node `last`: the cast, the drop, or the add. */
bool residual_after(struct residual_grad *f, const struct graph *g, struct node *last,
                    const struct device *dev);

/* Returns the rows of `channels` per sample of the drop; 0 if samples end within rows or
 * there are more rows than a divider (cuda/divide.h) supports. */
int64_t residual_rows(const struct node *drop, int64_t channels);

/* Returns the cast from 16 bits to fp32 that only one reader of t needs, or NULL. */
struct node *residual_widen(const struct graph *g, const struct tensor *t,
                            enum phase phase);
/* True if n is a cast from fp32 to 16 bits that a kernel may include. */
bool residual_is_round(const struct graph *g, const struct node *n,
                       const struct device *dev);

#ifdef __cplusplus
}
#endif

#endif
