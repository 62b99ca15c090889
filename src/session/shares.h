/*
 * The share of each batch in its update. A loss is a mean over the valid pixels of a
 * batch (by class weight) or over its valid images. If an update has several batches,
 * from several processes or by accumulation, the mean of their means differs from the
 * mean over all, which a single process with all images would compute. Each loss of a
 * batch is therefore multiplied by its share,
 *
 *   share = weight of the batch / mean weight of the batches of the update
 *
 * which is 1 if all are equal. Labels are known before the first batch runs, and with
 * them the shares. Dice and OHEM are no means over pixels; as an approximation they use
 * the shares of the valid pixels.
 */
#ifndef SESSION_SHARES_H
#define SESSION_SHARES_H

#include "session/losses.h"

/* One per loss, and SHARE_LOG: the factor that turns the weighted sum into the loss of
 * the log, because metrics multiply it by the weight of the batch again. */
enum { SHARE_LOG = LOSSES_MAX, SHARES };

struct build;
struct plan;
struct lent_batch;

/* Gets the weight of a batch for each loss, and at SHARE_LOG for the metrics. */
void shares_weights(const struct build *t, const struct plan *p, bool mixes,
                    const struct lent_batch *b, double weight[SHARES]);

/* Computes share[] of a batch from its weights and the means of the update. */
void shares_of(const double weight[SHARES], const double mean[SHARES],
               float share[SHARES]);

#endif
