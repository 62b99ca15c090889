/*
 * Validation: each batch of the split is read once and goes through the inference graph
 * with the weights and, if there is one, with their EMA. Sums are exact over the
 * samples that count; the padding of the last batch and damaged files do not.
 */
#ifndef TRAIN_EVALUATE_H
#define TRAIN_EVALUATE_H

#include "session/session.h"
#include "train/class_scores.h"
#include "train/feed.h"
#include "train/multilabel.h"
#include "train/output.h"
#include "train/report.h"
#include "train/segmentation.h"

struct evaluation {
    struct metrics raw, ema;                      /* ema.count is 0 without an EMA */
    struct segmentation *pixels[SESSION_WEIGHTS]; /* NULL: not segmented, no EMA */
    enum session_weights scores_of;               /* the weights of `sets`, `balance` */
    struct multilabel_scores *sets;               /* NULL unless MODEL_MULTILABEL */
    struct class_scores balance;                  /* NaN: not computed */
    int64_t images;                               /* that count */
    int classes;
    double seconds;
};

/*
 * False: a signal came, or the feed has failed, and `e` is what it was: {0}, or the last
 * one that was whole, which is released otherwise. `title` is for the progress line.
 */
bool evaluate(struct session *s, struct feed *f, const char *title, struct evaluation *e);
/* The same; the images of a classifier, or the pixels, are added to the report, with the
 * EMA weights if there are some, and what it says of the weights is set. */
bool evaluate_report(struct session *s, struct feed *f, const char *title,
                     struct evaluation *e, struct report *r);
void evaluate_release(struct evaluation *e); /* {0} is fine */

/* NaN where nothing was counted, and top5 of five classes or fewer. */
struct scores evaluate_scores(const struct evaluation *e, enum session_weights which);

double evaluate_rate(const struct evaluation *e); /* images that count, per second */

/*
 * " * Acc@1 87.21 Acc@5 99.50 loss 0.4132", and the same of the EMA, to the log. Of a
 * segmentation a table of the classes, the means, and which classes are left out of them.
 */
void evaluate_log(const struct evaluation *e, const struct class_list *classes);

/*
 * THROUGHPUT_MODE: the first batch of the split again and again, 50 runs to warm up and
 * 30 that count. Images per second; NaN if a signal came before one of these, or
 * the feed has failed.
 */
double evaluate_throughput(struct session *s, const struct feed *f);

/* Mean over the samples whose loss was finite; NaN: none. */
double metrics_loss(const struct metrics *m);
double metrics_percent(const struct metrics *m, int64_t right);
/* The sum over all processes; each of them calls it. */
struct metrics metrics_of_all(const struct metrics *own);
/* What came to `now` after `then`. */
struct metrics metrics_since(const struct metrics *now, const struct metrics *then);

#endif
