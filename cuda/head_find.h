/*
 * Finds the nodes at the end of a segmentation network that head.cu and head_grad.cu
 * compute: a transposed convolution, 2x2 with stride 2, its loss, the confusion matrix,
 * and their gradients, if the logits need not be stored.
 */
#ifndef CUDA_HEAD_FIND_H
#define CUDA_HEAD_FIND_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HEAD_CHANNELS = 16, HEAD_CLASSES = 40 /* maximum */ };

struct head_parts {
    struct node *up, *z_cast, *loss, *confusion; /* forward */
    struct node *grad, *dz_cast, *dx, *dw, *db;  /* backward */
    struct tensor *x, *w, *bias, *z;
};

/* Returns the transposed convolution that produces the logits t, or NULL. */
struct node *head_of_logits(const struct tensor *t);
/* Returns the one whose gradient includes n, or NULL. */
struct node *head_of_gradient(const struct node *n);

/* Finds `up` and the readers of its logits. Returns false if it is not such a layer or
 * its logits must be stored; the reason is head_not_found. */
bool head_find(struct head_parts *p, const struct graph *g, struct node *up);
extern const char head_not_found[];
/* Finds the gradients after p->grad. Returns false if some are missing or dz must be stored. */
bool head_find_gradients(struct head_parts *p, const struct graph *g);

#ifdef __cplusplus
}
#endif

#endif
