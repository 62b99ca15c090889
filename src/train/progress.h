/*
 * The progress line on a terminal, in tqdm's format:
 *
 *   Train 3/30:  45%|#########           | 176/390 [00:12<00:15, 1842 img/s, loss 1.234,
 *   lr 1.0e-01, data 0 %]
 *
 * It is drawn on stderr at most ten times per second and wiped before each log line.
 * Nothing is drawn if stderr is not a terminal; LOG.PROGRESS on and off override that.
 */
#ifndef TRAIN_PROGRESS_H
#define TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* `mode` is LOG.PROGRESS. */
void progress_init(int mode);
bool progress_active(void);
/* True if the progress line is on the same terminal as the log, which can then omit lines
 * with the same numbers. */
bool progress_is_enough(void);

struct progress {
    const char *title;
    int64_t done, total;
    double seconds; /* time since `initial` of them were done */
    double images_per_second;
    const char *postfix; /* text after the rate; may be empty */
    int64_t initial;     /* done before this run resumed */
    bool bytes;          /* a download: shows bytes instead of images */
};

void progress_show(const struct progress *p);
/* Makes progress_show() call `fn` after each batch, even if it draws nothing. */
void progress_watch(void (*fn)(void));
void progress_wipe(void);

/* Appends the progress line without the carriage return, at most `width` columns; for
 * tests. */
struct strbuf;
void progress_text(struct strbuf *s, const struct progress *p, int width);

#endif
