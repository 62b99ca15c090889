/*
 * TRAIN.VALIDATE background: a separate process, the evaluator, validates while training
 * continues. The two exchange JSON objects, one per line, over a Unix domain socket in
 * the run's folder:
 *
 *   training   {"evaluate": "RUN/validate_step_400.safetensors", "step": 400, "epoch": 3}
 *   evaluator  {"step": 400, "epoch": 3, "images": 10000, "seconds": 21.4,
 *               "val_loss": ..., "val_top1": ..., "ema_top1": ..., "val_iou": [...]}
 *              {"alive": true}          while it works; without any line for DIST.TIMEOUT
 *                                       seconds it is killed
 *
 * A checkpoint to evaluate is a hard link to a checkpoint of the run, so neither a killed
 * process nor KEEP_CHECKPOINTS removes it. It is deleted once a checkpoint that contains
 * its result is written. A restarted run finds the remaining ones and evaluates them. An
 * evaluator that exits is restarted. It can also be started by hand, on another device:
 * trainc eval --watch RUN/validate.sock.
 *
 *   background_open(&b, cfg, dir, step, n);  once the run's folder exists
 *   background_add(&b, file, step, epoch);   evaluate this checkpoint
 *   while (background_next(&b, &r)) ...      results so far, in order; does not wait
 *   background_begin_save(&b);               before a checkpoint is written
 *   background_end_save(&b);                 after it is complete
 *   background_close(&b);
 */
#ifndef TRAIN_BACKGROUND_H
#define TRAIN_BACKGROUND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "config/config.h"
#include "train/scores.h"
#include "train/segmentation.h"

#define BACKGROUND_SOCKET "validate.sock"
#define BACKGROUND_ALIVE  "{\"alive\": true}"

struct background_result {
    int64_t step, epoch, images;
    double seconds;
    struct scores val, ema;
    struct class_iou iou;
};

struct background {
    const struct config *cfg;
    const char *dir;        /* borrowed */
    int listening, peer;    /* listening socket; connection to the evaluator, -1: none */
    pid_t child;            /* the evaluator that we started; 0: none */
    int failures;           /* ends of the evaluator since its last result */
    double not_before;      /* earliest clock_now() of its next start */
    double last_message;    /* clock_now() of the last message or connection */
    struct strbuf received; /* from the evaluator, not processed yet */
    struct background_item {
        int64_t step, epoch;
        char *path;
        bool sent, known; /* sent to the evaluator; the result has arrived */
        bool saved;       /* the checkpoint being written contains the result */
    } * item;
    int n, cap;
};

/* Dies if the socket cannot be created. `step`: the step from which the run continues;
 * files of later steps are deleted. `epoch_steps`: steps per epoch. */
void background_open(struct background *b, const struct config *cfg, const char *dir,
                     int64_t step, int64_t epoch_steps);
void background_add(struct background *b, const char *file, int64_t step, int64_t epoch);
/* Returns false if no result has arrived. */
bool background_next(struct background *b, struct background_result *r);
/* True if the checkpoint of `step` was added, with or without a result. */
bool background_has(const struct background *b, int64_t step);
/* Returns the number of checkpoints without a result. */
int background_pending(const struct background *b);
/* True if the evaluator failed too often and is not restarted. */
bool background_gave_up(const struct background *b);
/* Makes best.safetensors a link to the checkpoint evaluated at `step`. */
void background_link_best(const struct background *b, int64_t step);
void background_begin_save(struct background *b);
void background_end_save(struct background *b);
void background_close(struct background *b);

/* Write and parse a line of the evaluator, without its newline. get returns false if the
 * line is not a result. */
void background_result_put(struct strbuf *line, const struct background_result *r);
bool background_result_get(const char *line, struct background_result *r);

/* Listen on or connect to a Unix domain socket at a path of any length. Return -1 and set
 * errno on failure. */
int background_listen(const char *path);
int background_connect(const char *path);

#endif
