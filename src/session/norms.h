/*
 * Batch norm statistics, estimated again for other weights than those that were trained, such
 * as an average: the means over batches of each batch's mean and unbiased variance, as
 * torch.optim.swa_utils.update_bn computes them (momentum None). Dropout is on, as there.
 *
 *   norms_begin(&n, s);                 with the weights in MEMORY_WEIGHTS
 *   norms_add(&n, &batch);              for each batch
 *   norms_end(&n, flat);                sets the buffers of `flat`
 *
 * Sums are in double and over all processes, which make the same calls. Batch norms that
 * TRAIN.FREEZE names keep their statistics.
 */
#ifndef SESSION_NORMS_H
#define SESSION_NORMS_H

#include "session/session.h"

struct norms {
    struct session *s;
    double *sum;  /* in the order of the buffers */
    float *batch; /* of the last one */
    int64_t batches;
};

/* True if the session has the program, and so batch norms to estimate. */
bool norms_has(const struct session *s);

void norms_begin(struct norms *n, struct session *s);
void norms_add(struct norms *n, const struct lent_batch *b);
/* `flat`: weights_len floats, or NULL to discard the sums. num_batches_tracked becomes the
 * number of batches. */
void norms_end(struct norms *n, float *flat);

#endif
