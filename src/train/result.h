/*
 * --result FILE: one JSON object about the whole run, written at its end, also when it
 * fails or never starts; then "error" says why. What is not known is null. Scores have
 * the units of train/scores.h, memory is the most that the device held at once. Of a
 * segmentation "val_iou" has the IoU of each class, null of those that are absent. Of a
 * run with a validation "best_top1" (or "best_miou") and "best_epoch" tell its best. A
 * run that was started again says what its checkpoint knows; speeds, seconds and memory
 * are of this process, and a speed is null where it had nothing to do.
 */
#ifndef TRAIN_RESULT_H
#define TRAIN_RESULT_H

#include <stdint.h>

#include "image/stages.h"
#include "train/class_list.h"
#include "train/run_state.h"
#include "train/scores.h"
#include "train/segmentation.h"

struct result {
    int64_t epochs, steps;
    double train_loss;
    struct scores val, ema;           /* NaN: not known */
    struct class_iou val_iou;         /* of `val` */
    const struct class_list *classes; /* of val_iou; lives until result_end */
    enum score best;                  /* which the next one is */
    double best_score;                /* of the weights or their EMA; < 0: none */
    int64_t best_epoch;               /* as in the log */
    double images_per_second;
    double train_seconds, data_wait_seconds; /* in training, and what of it waited */
    struct stage_times data_stages;          /* work of the loader of training */
    int64_t damaged_train, damaged_val;      /* samples left out; -1: not known */
    int64_t warned_train, warned_val; /* decoded in spite of damage; -1: not known */
    double device_open_seconds;       /* until the device could be asked for plans */
    double first_step_seconds; /* from the start until the first batch was handed over */
    int64_t peak_memory_bytes; /* 0 or less: not known */
    int64_t library_memory_bytes;       /* of a GPU, beside that; -1: not known */
    int64_t device_syncs, device_waits; /* see struct device_waits; -1: not known */
    double began;                       /* clock_now() at the start, for wall_seconds */
    /* Called after a die(), once the file is written; NULL: nothing. */
    void (*failed)(const char *error, int code, void *arg);
    void *failed_arg;
};

/*
 * From here on a die() writes `path` (NULL: no file) with its exit code and `error`; so
 * does a signal before signals_started(). `signal_code`: as for signals_install, which
 * comes next.
 */
void result_begin(struct result *r, const char *path, int signal_code);
/* For a run that never started: the exit code is 2. */
void result_write_refused(const char *path, int code, const char *error);
/* Appends the JSON text; `error`: why it failed, or NULL. */
void result_add(struct strbuf *text, const struct result *r, int code, const char *error);
/* Writes the file; returns `code`, or 1 if the file cannot be written. */
int result_end(const struct result *r, int code);

#endif
