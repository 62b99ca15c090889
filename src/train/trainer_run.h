/*
 * A training run under way: what the files trainer*.c of training share. Private to them.
 */
#ifndef TRAIN_TRAINER_RUN_H
#define TRAIN_TRAINER_RUN_H

#include "train/beside.h"
#include "train/evaluate.h"
#include "train/feed.h"
#include "train/hook_commands.h"
#include "train/output.h"
#include "train/result.h"
#include "train/saves.h"

struct trainer {
    const struct config *cfg;
    struct result result;
    struct feed feed;
    struct session session;
    struct output output;
    struct saves saves;
    struct run_state state;
    bool resumed; /* from a checkpoint */
    int64_t step; /* updates tried, as control.step, which may be on its way */
    /* The clock of the window, which may have begun in an earlier process: */
    double window_seconds; /* that its updates took, of those that were looked at */
    double window_waited;  /* wait_seconds when it began */
    double waited[8];      /* the same when update i % 8 was on its way */
    int64_t window_runs;   /* state.train.runs when the clock began */
    double train_seconds;  /* spent in the loop over batches by this process */
    int64_t epoch_from;    /* updates of the epoch that were done when it began here */
    int64_t epoch_end;     /* the update that ends it */
    double epoch_began;    /* clock_now() */
    double epoch_rate;     /* images per second of the last epoch */
    struct loader_stats epoch_loader; /* when the epoch began, of this process */
    int64_t replay;  /* batches to do again, which the metrics count already */
    int64_t loading; /* batch of the run that comes first; -1: it was taken */
    int64_t train_images;
    double last_loss, last_rate, last_share; /* for the progress line */
    int64_t skipped; /* as of the last look at the control tensor */
    int64_t nskipped, first_skipped, last_skipped; /* since the last line, and which */
    struct evaluation evaluation; /* the last whole validation of this process, */
    struct val_line val;          /* and its scores; NaN: none in this epoch */
    struct train_line line;       /* the last line of the log */
    struct epoch_line epoch_line; /* and epoch */
    bool is_best;     /* the last validation of this epoch is the best of all */
    bool late_val;    /* the last validation is of a run that ends within an epoch */
    bool enough;      /* early stopping: no more epochs */
    int code;         /* exit code, from HOOK_END on */
    char *checkpoint; /* the newest file that this process wrote, or NULL */
    struct hook_commands commands;
    double best_score_before;  /* state.best_score and best_epoch as they were before */
    int64_t best_epoch_before; /* the last validation */
    int64_t saved_step;        /* the update of the last checkpoint, or of the start */
    bool save_failed;
    struct beside beside;  /* TRAIN.VALIDATE beside, in the first process */
    int64_t judged_epoch;  /* the last one with a score; -1: none in this process */
    bool wants_validation; /* the next checkpoint is to be evaluated, */
    bool to_validate;      /* or the one on its way is */
    bool merged;           /* results have come that no checkpoint has yet */
    char *diverged;  /* why the run cannot go on, and must not be saved; NULL: it can */
    bool cache_said; /* trainer_say_cache() has spoken */
};

struct val_line trainer_no_val(void); /* nothing validated */
/* How much of training is right: top1 in percent; of a segmentation, the share of
 * pixels. */
double trainer_right(const struct trainer *t, const struct metrics *m);

/* The learning rate of update `step`, in the epoch under way or later: plateau changes
 * it. */
double trainer_lr(const struct trainer *t, int64_t step);
/* What the last validation says of the run: the better of the weights and their EMA, as
 * score_best() measures. */
double trainer_score(const struct trainer *t);
enum score trainer_best(const struct trainer *t); /* score_best() of the run */

/* Is the epoch's score better than all before? Tells the log. */
bool trainer_judge(struct trainer *t, double score, int64_t epoch);

/* Starts to write a checkpoint, unless gradients or the run have gone wrong. */
void trainer_save(struct trainer *t, bool epoch_end);

/* TRAIN.VALIDATE beside: does a process of its own evaluate? And is it to evaluate the
 * epoch that is over? */
bool trainer_validates_beside(const struct trainer *t);
bool trainer_beside_due(const struct trainer *t);

/* Has any process reason to stop? All ask at the same places, and get the same answer. */
bool trainer_asked_to_stop(struct trainer *t);

/* The exit code of a run that a signal has ended before it was done. */
int trainer_signal_code(const struct trainer *t);

/* False: cut off by a signal or by damaged files, and nothing has changed. */
bool trainer_validate(struct trainer *t);
/* Waits for the checkpoint that is being written, if any, and takes note of how it ended:
 * if arrays are not finite, in t->diverged; if `best` was not written, the score and
 * epoch of before are the best again. */
void trainer_collect(struct trainer *t);

/* Data, device, output folder, checkpoint: everything up to HOOK_START. `cfg` is
 * t->cfg. */
void trainer_start(struct trainer *t, struct config *cfg);

/* A window is what lies between two lines of the log; this starts its clock, and that of
 * the updates. Nothing may be in flight. */
void trainer_window_clock(struct trainer *t);

/* Waits for all updates, and writes the lines that are due. */
void trainer_settle(struct trainer *t);

/* Is TRAIN.MAX_STEPS reached with `step` updates? */
bool trainer_out_of_steps(const struct trainer *t, int64_t step);

/* After an epoch of so many seconds: tells how long it waited for data, and why. */
void trainer_say_waits(struct trainer *t, double seconds);

/* After the first whole epoch: tells what DATA.CACHE holds. */
void trainer_say_cache(struct trainer *t);

/* All that the result says, at the end. */
void trainer_fill_result(struct trainer *t);

#endif
