/*
 * Validation: reads each batch of the split once and runs the inference graph on it with
 * the weights and, if the run has an EMA, with the EMA weights. Sums are over exactly the
 * valid samples, without the padding of the last batch and without damaged files.
 */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "session/session.h"
#include "train/class_scores.h"
#include "train/feed.h"
#include "train/multilabel.h"
#include "train/ordinal.h"
#include "train/output.h"
#include "train/regression.h"
#include "train/report.h"
#include "train/segmentation.h"

struct evaluation {
    struct metrics raw, ema;                      /* ema.count is 0 without an EMA */
    struct segmentation *pixels[SESSION_WEIGHTS]; /* NULL: no segmentation or no EMA */
    enum session_weights scores_of;   /* which weights the scores below are of */
    struct multilabel_scores *sets;   /* NULL unless MODEL_MULTILABEL */
    struct regression_scores *values; /* NULL unless MODEL_REGRESSION */
    bool only_loss;                   /* MODEL_SIMMIM: no other score is defined */
    struct ordinal_scores order;      /* NaN unless MODEL_ORDINAL */
    struct class_scores balance;      /* NaN if not computed */
    bool swa;                         /* `ema` is of the average of TRAIN.SWA */
    int64_t images;                   /* number of valid images */
    int classes;
    double seconds;
};

/*
 * Fills `e`, which must be {0} or the result of an earlier call, which is released.
 * Returns false and leaves `e` unchanged if a signal arrived or the feed failed. `title`
 * is for the progress line.
 */
bool evaluate(struct session *s, struct feed *f, const char *title, struct evaluation *e);
/* The same, and adds a classifier's images or the pixels to the report, as predicted by
 * the EMA weights if there are any; sets r->weights. */
bool evaluate_report(struct session *s, struct feed *f, const char *title,
                     struct evaluation *e, struct report *r);
void evaluate_release(struct evaluation *e); /* `e` may be {0}. */

/* Scores without samples are NaN, as is top5 with five classes or fewer. */
struct scores evaluate_scores(const struct evaluation *e, enum session_weights index);

double evaluate_rate(const struct evaluation *e); /* valid images per second */

/*
 * Logs " * Acc@1 87.21 Acc@5 99.50 loss 0.4132", and the same for the EMA weights. For a
 * segmentation, logs a table of the classes, the means, and the classes excluded from
 * them.
 */
void evaluate_log(const struct evaluation *e, const struct class_list *classes);

/*
 * THROUGHPUT_MODE: returns images per second for the first batch of the split, over 30
 * runs after 50 warm-up runs. Returns NaN if a signal arrived before the first of the 30
 * or if the feed failed.
 */
double evaluate_throughput(struct session *s, const struct feed *f);

/* Returns the mean over the samples with a finite loss, or NaN if there are none. */
double metrics_loss(const struct metrics *m);
double metrics_percent(const struct metrics *m, int64_t right);
/* Returns the sum over all processes; all of them must call it. */
struct metrics metrics_of_all(const struct metrics *local);
/* Returns the difference `now` - `then`. */
struct metrics metrics_since(const struct metrics *now, const struct metrics *then);

#endif
