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

#endif
