/*
 * Collects the per-image results of an evaluation: adds the logits of each batch to the
 * report and to the rows from which scores are computed.
 *
 *   collector_init(&c, s, report);          report may be NULL
 *   collector_batch(&c, b);                 before the batch is lent to the device
 *   session_eval_lent(s, &lent);
 *   collector_add(&c);                      waits for the logits of that batch
 *   collector_finish(&c, images, e);        on all ranks, after the last batch
 *   collector_release(&c);
 *
 * The logits are of the EMA weights if there are some. collector_add() does nothing if no
 * image is needed: a classifier of more than CLASS_SCORES_MAX classes without a report,
 * and segmentation without Boundary IoU, as its confusion matrix is on the device.
 */
#ifndef TRAIN_COLLECTOR_H
#define TRAIN_COLLECTOR_H

#include "session/session.h"
#include "train/boundary.h"
#include "train/feed.h"
#include "train/image_rows.h"
#include "train/report.h"

struct evaluation;

struct collector {
    struct session *session;
    struct report *report;      /* a classifier's report, or NULL */
    enum session_weights which; /* weights that compute the logits */
    struct boundary *boundary;  /* of a segmentation, if wanted; or NULL */
    /* True if `rows` is for class_scores.h, multilabel.h, or regression.h. */
    bool classes, sets, values;
    struct image_rows rows;
    /* The batch on the device: */
    int64_t *sample; /* [val_batch]: index in the data set; -1: padding */
    int32_t *label;  /* [val_batch]: class index; -1: damaged */
    uint8_t *target; /* [val_batch, classes] of MODEL_MULTILABEL; as floats of
                      * MODEL_REGRESSION */
    uint8_t *map;    /* [val_batch, h, w] for `boundary` */
    float *logits;   /* [val_batch, classes], or [val_batch, h, w, classes] for it */
};

void collector_init(struct collector *c, struct session *s, struct report *r);
void collector_release(struct collector *c);
void collector_batch(struct collector *c, const struct batch *b);
void collector_add(struct collector *c);

/* Sets the scores in `e`, and the session's thresholds. Gathers the rows and the report
 * of all ranks; the data set has `total` images. */
void collector_finish(struct collector *c, int64_t total, struct evaluation *e);

#endif
