/*
 * Collects what an evaluation keeps of each image: the logits of a batch go into the
 * report and into the rows that scores are computed from.
 *
 *   collector_init(&c, s, report);          report may be NULL
 *   collector_batch(&c, b);                 before the batch is lent to the device
 *   session_eval_lent(s, &lent);
 *   collector_add(&c);                      waits for the logits of that batch
 *   collector_finish(&c, images, e);        all ranks, after the last batch
 *   collector_release(&c);
 *
 * The logits are of the EMA weights if there are some. All but init and release do nothing
 * if no image is needed: a classifier of more than CLASS_SCORES_MOST classes without a
 * report, and segmentation, whose confusion matrix is on the device.
 */
#ifndef TRAIN_COLLECTOR_H
#define TRAIN_COLLECTOR_H

#include "session/session.h"
#include "train/feed.h"
#include "train/image_rows.h"
#include "train/report.h"

struct evaluation;

struct collector {
    struct session *session;
    struct report *report;      /* of a classifier; may be NULL */
    enum session_weights which; /* that the logits are of */
    bool classes, sets;         /* fills `rows` for class_scores.h, multilabel.h */
    struct image_rows rows;
    /* Of the batch on the device, [val_batch] each: */
    int64_t *sample; /* index in the data set; -1: padding */
    int32_t *label;  /* -1: damaged */
    uint8_t *target; /* [val_batch, classes] of MODEL_MULTILABEL */
    float *logits;   /* [val_batch, classes] */
};

void collector_init(struct collector *c, struct session *s, struct report *r);
void collector_release(struct collector *c);
void collector_batch(struct collector *c, const struct batch *b);
void collector_add(struct collector *c);

/* Writes the scores of a data set of `total` images, and gives the session its thresholds
 * and the report what all ranks added. */
void collector_finish(struct collector *c, int64_t total, struct evaluation *e);

#endif
