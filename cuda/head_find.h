/*
 * Which nodes are the end of a segmentation network, as head.cu and head_grad.cu compute
 * it: a transposed convolution, 2x2 with stride 2, its loss, the confusion matrix, and
 * their gradients, where nobody needs the logits stored.
 */
#ifndef CUDA_HEAD_FIND_H
#define CUDA_HEAD_FIND_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { HEAD_CHANNELS = 16, HEAD_CLASSES = 40 /* at most */ };

struct head_parts {
    struct node *up, *z_cast, *loss, *confusion; /* forward */
    struct node *grad, *dz_cast, *dx, *dw, *db;  /* backward */
    struct tensor *x, *w, *bias, *z;
};

/* The transposed convolution whose logits t are; or NULL. */
struct node *head_of_logits(const struct tensor *t);
/* The one in whose gradient n stands; or NULL. */
struct node *head_of_gradient(const struct node *n);

/* `up` and what reads its logits. False: no such layer, or somebody needs them stored; the
 * reason is head_not_found. */
bool head_find(struct head_parts *p, const struct graph *g, struct node *up);
extern const char head_not_found[];
/* The gradients after p->grad. False: not all of them, or somebody needs dz stored. */
bool head_find_gradients(struct head_parts *p, const struct graph *g);

#ifdef __cplusplus
}
#endif

#endif
