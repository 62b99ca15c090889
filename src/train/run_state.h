/* Where a run stands beside its arrays: what a checkpoint keeps of the trainer. */
#ifndef TRAIN_RUN_STATE_H
#define TRAIN_RUN_STATE_H

#include "ops/control.h"
#include "ops/metrics.h"
#include "session/plateau.h"
#include "train/scores.h"
#include "train/segmentation.h"

struct run_state {
    int64_t epoch; /* epochs finished, validation included */
    int64_t updates_per_epoch;
    int64_t update_images; /* of a whole update, in all processes; 0: not known */
    int64_t axis;          /* output_axis of the last update */
    struct metrics train;  /* of the epoch under way */
    struct metrics window; /* the same at the last line of the log */
    double best_score;     /* score_best() of the weights that validated best; -1: none */
    int64_t best_epoch;
    struct plateau plateau; /* of a schedule that judges */
    double train_loss;      /* the last one; NaN: none */
    struct scores val, ema;
    struct class_iou val_iou;
    int64_t val_step;   /* the update that these are of; -1: none */
    uint64_t data;      /* dataset_digest of the training images; 0: not known */
    bool dynamic_scale; /* the loss scale was found by the run that wrote the file */
    int loss_scales;    /* how many that has: 1, or one for each loss */
};

/*
 * Updates tried since the run began. A resumed run whose epochs have fewer updates goes
 * back to an earlier step, but not to an earlier one of these.
 */
static inline int64_t run_state_done(const struct control *c)
{
    return c->updates + c->skipped;
}

/* Files and hooks count epochs from 0, what people read from 1. */
static inline long long epoch_shown(int64_t epoch)
{
    return epoch + 1;
}

#endif
