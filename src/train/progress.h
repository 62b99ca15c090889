/*
 * The line that moves, on a terminal:
 *
 *   Train 3/30:  45%|#########           | 176/390 [00:12<00:15, 1842 img/s, loss 1.234,
 *   lr 1.0e-01, data 0 %]
 *
 * tqdm's shape, on stderr. It is drawn at most ten times a second and wiped before each
 * line of the log. If stderr is no terminal, nothing is drawn; LOG.PROGRESS on and off
 * override that.
 */
#ifndef TRAIN_PROGRESS_H
#define TRAIN_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* `mode` is LOG.PROGRESS. */
void progress_init(int mode);
bool progress_active(void);
/* Does it stand where the log's lines are, so that they need not say the same? */
bool progress_is_enough(void);

struct progress {
    const char *title;
    int64_t done, total;
    double seconds; /* since `initial` of them were done */
    double images_per_second;
    const char *postfix; /* after the rate; may be empty */
    int64_t initial;     /* done before, by the run that this one goes on with */
    bool bytes;          /* of a download: their rate in place of the images' */
};

void progress_show(const struct progress *p);
/* Also if nothing is drawn, `fn` is called by progress_show(), after each batch. */
void progress_watch(void (*fn)(void));
void progress_wipe(void);

/* The bar's text without the carriage return, for tests: `width` columns at most. */
struct strbuf;
void progress_text(struct strbuf *s, const struct progress *p, int width);

#endif
