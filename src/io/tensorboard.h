/*
 * TensorBoard event files: scalars, texts, and images. Records are framed as TFRecords
 * (length and data, each with a masked CRC-32C) and hold protocol buffers of the messages
 * Event and Summary in tensorboard/compat/proto, encoded by hand.
 *
 *   struct tensorboard t;
 *   tensorboard_open(&t, "output/resnet50/default", 0);
 *   tensorboard_scalar(&t, "train/loss", step, 2.3);
 *   tensorboard_close(&t);
 *
 * Use one writer per directory: TensorBoard would merge two into one curve. Events are
 * buffered and written by tensorboard_flush, after 64 KiB, or after two minutes. Opening
 * dies on failure; a later failed write is logged once, and the run continues without
 * events. Not thread-safe.
 */
#ifndef IO_TENSORBOARD_H
#define IO_TENSORBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct tensorboard {
    char *path;
    int fd; /* -1: closed, or writing failed */
    double flushed;
    struct strbuf pending;
};

/*
 * Opens a new event file in `dir`. `first_step` is the first step that a resumed run will
 * log again, or 0 for a new run; TensorBoard discards the events of older files from that
 * step on.
 */
void tensorboard_open(struct tensorboard *t, const char *dir, int64_t first_step);
void tensorboard_close(struct tensorboard *t);
void tensorboard_flush(struct tensorboard *t);

void tensorboard_scalar(struct tensorboard *t, const char *tag, int64_t step,
                        double value);
/* Displayed as Markdown. */
void tensorboard_text(struct tensorboard *t, const char *tag, int64_t step,
                      const char *text);

/* `png`: a PNG file of w x h pixels in RGB. */
void tensorboard_image(struct tensorboard *t, const char *tag, int64_t step, int w, int h,
                       const void *png, size_t len);

/*
 * The HPARAMS tab: hyperparameters with their values, and the scalars that are metrics
 * (protocol buffers of tensorboard/plugins/hparams).
 *
 *   struct tensorboard_hparams h = {.metric = {"val/val_top1"}};
 *   tensorboard_hparam_number(&h, "TRAIN.BASE_LR", 0.1);
 *   tensorboard_hparams(&t, &h);            once per file; releases h
 */
enum { TENSORBOARD_METRICS = 4 };

struct tensorboard_hparams {
    const char *metric[TENSORBOARD_METRICS]; /* tags of scalars, terminated by NULL */
    struct strbuf infos, values;             /* filled by the functions below */
};

void tensorboard_hparam_number(struct tensorboard_hparams *h, const char *name, double v);
void tensorboard_hparam_bool(struct tensorboard_hparams *h, const char *name, bool v);
void tensorboard_hparam_text(struct tensorboard_hparams *h, const char *name,
                             const char *v);
void tensorboard_hparams(struct tensorboard *t, struct tensorboard_hparams *h);

#endif
