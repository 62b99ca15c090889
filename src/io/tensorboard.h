/*
 * TensorBoard event files: scalars, texts and images. Records are framed as TFRecords
 * (length and data, each with a masked CRC-32C) and hold protocol buffers of the messages
 * Event and Summary in tensorboard/compat/proto, encoded by hand.
 *
 *   struct tensorboard t;
 *   tensorboard_open(&t, "output/resnet50/default", 0);
 *   tensorboard_scalar(&t, "train/loss", step, 2.3);
 *   tensorboard_close(&t);
 *
 * One writer a directory: two would be drawn as one tangled curve. Events are buffered
 * and reach the file with tensorboard_flush, after 64 KiB, or after two minutes. Opening
 * dies if it cannot; a write that fails later is logged once, and the run goes on without
 * events. Not thread-safe.
 */
#ifndef IO_TENSORBOARD_H
#define IO_TENSORBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct tensorboard {
    char *path;
    int fd; /* -1: closed, or given up */
    double flushed;
    struct strbuf pending;
};

/*
 * Opens a new event file in `dir`. `first_step` is the first one that a run that resumes
 * will log again, and 0 of a fresh run: TensorBoard then forgets what older files say
 * from there on.
 */
void tensorboard_open(struct tensorboard *t, const char *dir, int64_t first_step);
void tensorboard_close(struct tensorboard *t);
void tensorboard_flush(struct tensorboard *t);

void tensorboard_scalar(struct tensorboard *t, const char *tag, int64_t step,
                        double value);
/* Shown as Markdown. */
void tensorboard_text(struct tensorboard *t, const char *tag, int64_t step,
                      const char *text);

/* `png`: a PNG file of w x h pixels in RGB. */
void tensorboard_image(struct tensorboard *t, const char *tag, int64_t step, int w, int h,
                       const void *png, size_t len);

/*
 * What the HPARAMS tab shows of a run: hyperparameters with their values, and which
 * scalars are its metrics (protocol buffers of tensorboard/plugins/hparams).
 *
 *   struct tensorboard_hparams h = {.metric = {"val/val_top1"}};
 *   tensorboard_hparam_number(&h, "TRAIN.BASE_LR", 0.1);
 *   tensorboard_hparams(&t, &h);            once a file; releases h
 */
enum { TENSORBOARD_METRICS = 4 };

struct tensorboard_hparams {
    const char *metric[TENSORBOARD_METRICS]; /* tags of scalars; NULL ends them */
    struct strbuf infos, values;             /* made by the calls below */
};

void tensorboard_hparam_number(struct tensorboard_hparams *h, const char *name, double v);
void tensorboard_hparam_bool(struct tensorboard_hparams *h, const char *name, bool v);
void tensorboard_hparam_text(struct tensorboard_hparams *h, const char *name,
                             const char *v);
void tensorboard_hparams(struct tensorboard *t, struct tensorboard_hparams *h);

#endif
