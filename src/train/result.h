/*
 * --result FILE: one JSON object about the whole run, written at its end, also when it
 * fails or never starts; then "error" says why. What is not known is null. Accuracies are
 * percent, memory is the most that the device held at once.
 */
#ifndef TRAIN_RESULT_H
#define TRAIN_RESULT_H

#include <stdint.h>

struct result {
    int64_t epochs, steps;
    double train_loss, val_loss, val_top1, val_top5, ema_top1; /* NaN: not known */
    double images_per_second;
    int64_t peak_memory_bytes;
    int64_t library_memory_bytes;       /* of a GPU, beside that; -1: not known */
    int64_t device_syncs, device_waits; /* see struct device_waits; -1: not known */
    double began;                       /* clock_now() at the start, for wall_seconds */
};

/* From here on a die() writes `path` (NULL: no file) with its exit code and `error`. */
void result_begin(struct result *r, const char *path);
/* For a run that never started: the exit code is 2. */
void result_write_refused(const char *path, const char *error);
/* Writes the file; returns `code`, or 1 if the file cannot be written. */
int result_end(const struct result *r, int code);

#endif
