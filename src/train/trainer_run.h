/*
 * The state of a training run. Private to the trainer*.c files.
 */
#ifndef TRAIN_TRAINER_RUN_H
#define TRAIN_TRAINER_RUN_H

#include "train/background.h"
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
    bool resumed; /* True if it continues from a checkpoint. */
    int64_t step; /* steps tried; control.step on the device may be lower */
    /* The window's clock; the window may have begun in an earlier process: */
    double window_seconds; /* duration of its observed steps */
    double window_waited;  /* wait_seconds when it began */
    double waited[8];      /* wait_seconds when step s was submitted, at s % 8 */
    int64_t window_runs;   /* state.train.runs when the clock began */
    double train_seconds;  /* time in this process's loop over batches */
    int64_t epoch_from;    /* steps of the epoch done before this process began it */
    int64_t epoch_end;     /* step at the end of the epoch */
    double epoch_began;    /* clock_now() */
    double epoch_rate;     /* images per second of the last epoch */
    struct loader_stats epoch_loader; /* this process's, when the epoch began */
    int64_t replay;  /* batches to repeat, which the metrics already count */
    int64_t loading; /* batch of the run that the loader starts at; -1: fetched */
    int64_t train_images;
    double last_loss, last_rate, last_share; /* for the progress line */
    int64_t skipped;                         /* control.skipped of the last snapshot */
    int64_t nskipped, first_skipped, last_skipped; /* steps skipped since the last line */
    struct evaluation evaluation; /* last complete validation of this process */
    struct val_line val;          /* its scores; NaN if there is none in this epoch */
    struct train_line line;       /* the last log line */
    struct epoch_line epoch_line; /* the last epoch */
    bool is_best;     /* True if this epoch's validation is the best so far. */
    bool late_val;    /* True if the last validation is of an unfinished epoch. */
    bool enough;      /* True after early stopping. */
    int code;         /* exit code, set at HOOK_END */
    char *checkpoint; /* newest file that this process wrote, or NULL */
    struct hook_commands commands;
    double best_score_before;  /* state.best_score before the last validation */
    int64_t best_epoch_before; /* state.best_epoch before the last validation */
    int64_t saved_step;        /* step of the last checkpoint, or of the start */
    bool save_failed;
    struct background background; /* TRAIN.VALIDATE background, in the first process */
    int64_t judged_epoch;         /* last epoch with a score; -1: none in this process */
    bool wants_validation;        /* True if the next checkpoint is to be evaluated. */
    bool to_validate;             /* True if the checkpoint being written is. */
    bool merged;                  /* True if results are not in a checkpoint yet. */
    char *diverged;  /* reason why the run must end without saving, or NULL */
    bool cache_said; /* True after trainer_say_cache() has logged. */
};

struct val_line trainer_no_val(void); /* Returns unknown scores. */
/* Returns the training accuracy: top1 in percent, for segmentation the fraction of
 * correct pixels, for several labels per image NaN. */
double trainer_right(const struct trainer *t, const struct metrics *m);

/* Returns the learning rate of step `step`, which must be in the current epoch or later,
 * because of the plateau schedule. */
double trainer_lr(const struct trainer *t, int64_t step);
/* Returns the score_best() of the last validation: the better one of the weights and the
 * EMA weights. */
double trainer_score(const struct trainer *t);
enum score trainer_best(const struct trainer *t); /* score_best() of the run */

/* Records the epoch's score and logs the best one. Returns true if it is the best so
 * far. */
bool trainer_judge(struct trainer *t, double score, int64_t epoch);

/* Starts writing a checkpoint, unless the run has diverged or, within an epoch, the last
 * gradients were not finite. */
void trainer_save(struct trainer *t, bool epoch_end);

/* True with TRAIN.VALIDATE background: a separate process evaluates checkpoints. */
bool trainer_validates_in_background(const struct trainer *t);
/* True if that process must evaluate the finished epoch. */
bool trainer_background_due(const struct trainer *t);

/* True if any process must stop. All must call it at the same places; all get the same
 * result. */
bool trainer_asked_to_stop(struct trainer *t);

/* Returns the exit code of a run that a signal has ended early. */
int trainer_signal_code(const struct trainer *t);

/* Returns false, with nothing changed, if a signal or damaged files interrupted it. */
bool trainer_validate(struct trainer *t);
/* Waits for the checkpoint being written, if any, and handles its outcome: sets
 * t->diverged if arrays are not finite; restores the previous best score and epoch if
 * `best` could not be written. */
void trainer_collect(struct trainer *t);

/* Prepares everything before HOOK_START: data, device, output folder, checkpoint. `cfg`
 * is t->cfg. */
void trainer_start(struct trainer *t, struct config *cfg);

/* Starts the clock of a window, the steps between two log lines, and that of the steps.
 * Nothing may be in flight. */
void trainer_window_clock(struct trainer *t);

/* TRAIN.SWA: adds the weights to their average at the end of an epoch, and estimates its
 * batch norm statistics. Returns false, with nothing changed, if the run must stop. */
bool trainer_average(struct trainer *t);

/* Trains the head alone in the first TRAIN.FREEZE_EPOCHS epochs, and everything from then
 * on; logs the change. Call before each epoch. */
void trainer_hold(struct trainer *t);

/* Waits for all steps and writes the lines that are due. */
void trainer_settle(struct trainer *t);

/* True if `step` steps reach TRAIN.MAX_STEPS. */
bool trainer_out_of_steps(const struct trainer *t, int64_t step);

/* Logs how long an epoch that took `seconds` waited for data, and why. */
void trainer_say_waits(struct trainer *t, double seconds);

/* Logs what DATA.CACHE holds, after the first complete epoch. */
void trainer_say_cache(struct trainer *t);

/* Sets all values of the result at the end. */
void trainer_fill_result(struct trainer *t);

#endif
