/*
 * Validation: each batch of the split is read once and goes through the inference graph
 * with the weights and, if there is one, with their average. Sums are exact over the
 * samples that count; the padding of the last batch and damaged files do not.
 */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "train/feed.h"
#include "train/output.h"
#include "train/step.h"

struct evaluation {
    struct metrics raw, ema; /* ema.count is 0 without an average */
    double seconds;
};

/* False: a signal came, and nothing is complete. `title` is for the progress line. */
bool evaluate(struct session *s, const struct feed *f, const char *title,
              struct evaluation *e);

/* Percent and means; NaN where nothing was counted. step and epoch are the caller's. */
struct val_line evaluate_line(const struct evaluation *e);

double evaluate_rate(const struct evaluation *e); /* images that count, per second */

/* " * Acc@1 87.21 Acc@5 99.50 loss 0.4132 (EMA: Acc@1 ...)", to the log. */
void evaluate_log(const struct evaluation *e);

/*
 * THROUGHPUT_MODE: the first batch of the split again and again, 50 runs to warm up and
 * 30 that count. Images per second.
 */
double evaluate_throughput(struct session *s, const struct feed *f);

double metrics_loss(const struct metrics *m); /* mean over samples; NaN: none */
double metrics_percent(const struct metrics *m, int64_t right);
/* What came to `now` after `then`. */
struct metrics metrics_since(const struct metrics *now, const struct metrics *then);

#endif
