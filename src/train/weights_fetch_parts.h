/* Private to src/train/weights_fetch*.c. */
#ifndef TRAIN_WEIGHTS_FETCH_PARTS_H
#define TRAIN_WEIGHTS_FETCH_PARTS_H

#include "io/download.h"
#include "train/weights_fetch.h"

struct fetch {
    const struct pretrained_request *r;
    const char *name;  /* for messages: resnet50.a1_in1k */
    const char *token; /* the hub's token, or NULL */
    bool quiet;        /* True for small files: no log line, no progress line. */
    struct strbuf *why;
    bool failed; /* True if the network or a server failed. */
    const char *url, *place;
    bool checked;  /* True if the SHA-256 is known. */
    double began;  /* time when the first bytes arrived */
    int64_t first; /* bytes that the partial file had then; -1: not started */
};

/* Sets the URL and the options that all requests share. */
void fetch_prepare(struct fetch *f, struct download *d, const char *url);
/* Downloads `url` into d->file, for which the log shows its final path `place`. Requires
 * the file, size, and checksum in `d`. */
enum download_end fetch_file(struct fetch *f, struct download *d, const char *url,
                             const char *place);
/* Creates the folder of `path` and waits for the lock on `path`; logs a line if another
 * process holds it. Returns the descriptor, or -1 and the reason. */
int fetch_lock(struct fetch *f, const char *path);

/* Downloads a file of a hub repository; sets *path to its place in the cache (the caller
 * frees it). */
enum download_end fetch_from_hub(struct fetch *f, const char *file, int64_t max_size,
                                 char **path);

#endif
