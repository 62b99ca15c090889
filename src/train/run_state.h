/* The trainer's state in a checkpoint: the progress of a run, without its arrays. */
#ifndef TRAIN_RUN_STATE_H
#define TRAIN_RUN_STATE_H

#include "ops/control.h"
#include "ops/metrics.h"
#include "session/plateau.h"
#include "train/scores.h"
#include "train/segmentation.h"

struct run_state {
    int64_t epoch; /* finished epochs, including validation */
    int64_t updates_per_epoch;
    int64_t update_images; /* images per step, in all processes; 0: unknown */
    int64_t axis;          /* output_axis of the last step */
    struct metrics train;  /* of the current epoch */
    struct metrics window; /* value of `train` at the last log line */
    double best_score;     /* score_best() of the best weights so far; NaN: none */
    int64_t best_epoch;
    struct plateau plateau; /* state of the plateau schedule */
    double train_loss;      /* the last one; NaN: none */
    struct scores val, ema;
    struct class_iou val_iou;
    int64_t averaged, averaged_step; /* TRAIN.SWA: session.averaged, and its last step */
    int64_t val_step;                /* step of these scores; -1: none */
    uint64_t data;      /* dataset_digest of the training images; 0: unknown */
    bool dynamic_scale; /* True if the file's run had a dynamic loss scale. */
    int loss_scales;    /* number of loss scales: 1, or one per loss */
};

/*
 * Returns the number of steps tried since the run began. A resumed run whose epochs have
 * fewer steps goes back to a lower step number, but this count never decreases.
 */
static inline int64_t run_state_done(const struct control *c)
{
    return c->updates + c->skipped;
}

/* Files and hooks count epochs from 0, messages count from 1. */
static inline long long epoch_shown(int64_t epoch)
{
    return epoch + 1;
}

#endif
