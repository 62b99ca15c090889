/* Private to src/train/weights_fetch*.c. */
#ifndef TRAIN_WEIGHTS_FETCH_PARTS_H
#define TRAIN_WEIGHTS_FETCH_PARTS_H

#include "io/download.h"
#include "train/weights_fetch.h"

struct fetch {
    const struct pretrained_request *r;
    const char *name;  /* for people: resnet50.a1_in1k */
    const char *token; /* of the hub; NULL: none */
    bool quiet;        /* a small file: without a line */
    struct strbuf *why;
    bool failed; /* the network or a server */
    const char *url, *place;
    bool checked;
    double began; /* since `first` bytes were there */
    int64_t first;
};

/* The URL, and what is the same for all requests. */
void fetch_prepare(struct fetch *f, struct download *d, const char *url);
/* Downloads url into d->file, which becomes `place`: d->file, sizes, and sums are set. */
enum download_end fetch_file(struct fetch *f, struct download *d, const char *url,
                             const char *place);
/* Waits for the lock on `path`, its folder made, with a line if another process has it.
 * -1 with the reason. */
int fetch_lock(struct fetch *f, const char *path);

/* One file of a repository of the hub: its place in the cache, a heap string. */
enum download_end fetch_from_hub(struct fetch *f, const char *file, int64_t most,
                                 char **path);

#endif
