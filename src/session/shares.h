/*
 * How much each batch counts in its update. A loss is a mean over what counts in a batch:
 * valid pixels by the weights of their classes, or images that are there. Where an update
 * has several batches, of several processes or by accumulation, the mean of their means
 * is another number than the mean over all of them, which one process with all images
 * would learn from. So each loss of a batch is multiplied by its share,
 *
 *   share = weight of the batch / mean weight of the batches of the update
 *
 * which is 1 where all are alike. Labels are known before the first batch runs, so the
 * shares are, too. Dice and OHEM are no means of pixels: theirs are those of the valid
 * pixels, which is what comes nearest.
 */
#ifndef SESSION_SHARES_H
#define SESSION_SHARES_H

#include "session/losses.h"

/* One for each loss, and what turns their sum into the loss of the log: the metrics
 * multiply it by the weight of the batch, and it is weighted already. */
enum { SHARE_LOG = LOSSES_MOST, SHARES };

struct build;
struct plan;
struct lent_batch;

/* How much a batch weighs for each loss, and at SHARE_LOG for the metrics. */
void shares_weights(const struct build *t, const struct plan *p, bool mixes,
                    const struct lent_batch *b, double weight[SHARES]);

/* share[] of a batch, given those weights and the means of the update. */
void shares_of(const double weight[SHARES], const double mean[SHARES],
               float share[SHARES]);

#endif
