/*
 * --result FILE: one JSON object about the run, written at its end. If the run fails or
 * never starts, "error" is the reason. Unknown values are null. Scores have the units of
 * train/scores.h; memory is the device's peak. For segmentation, "val_iou" has the IoU of
 * each class, null if the class is absent. "best_top1" (or "best_miou") and "best_epoch"
 * are those of the best validation. A resumed run includes the values of its checkpoint;
 * speed, time, and memory are those of this process, and speed is null if it processed no
 * images.
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
    struct scores val, ema;           /* NaN if unknown */
    struct class_iou val_iou;         /* IoU of each class in `val` */
    const struct class_list *classes; /* classes of val_iou; borrowed until result_end */
    enum score best;                  /* the score that best_score is */
    double best_score;                /* better one of weights and EMA; NaN: none */
    int64_t best_epoch;               /* counted from 0, unlike in the log */
    double images_per_second;
    double train_seconds, data_wait_seconds; /* training time; its wait for data */
    struct stage_times data_stages;          /* work of the training loader */
    int64_t damaged_train, damaged_val;      /* skipped samples; -1: unknown */
    int64_t warned_train, warned_val;   /* samples decoded despite damage; -1: unknown */
    double device_open_seconds;         /* until the device was ready for planning */
    double first_step_seconds;          /* from the start to the first batch */
    int64_t peak_memory_bytes;          /* <= 0: unknown */
    int64_t library_memory_bytes;       /* additional GPU memory; -1: unknown */
    int64_t device_syncs, device_waits; /* see struct device_waits; -1: unknown */
    double began;                       /* clock_now() at the start, for wall_seconds */
    /* Called by die() after the file is written; may be NULL. */
    void (*failed)(const char *error, int code, void *arg);
    void *failed_arg;
};

/*
 * After this call, die() writes `path` (NULL: no file) with its exit code and error
 * message, and so does a signal before signals_started(). `signal_code`: as for
 * signals_install, which must follow.
 */
void result_begin(struct result *r, const char *path, int signal_code);
/* Writes the result of a run that never started, unless `path` is another file. */
void result_write_refused(const char *path, int code, const char *error);
/* Appends the JSON text; `error`: reason of a failure, or NULL. */
void result_add(struct strbuf *text, const struct result *r, int code, const char *error);
/* Writes the file. Returns `code`, or EXIT_FAILED if that is 0 and writing fails. */
int result_end(const struct result *r, int code);

#endif
