/*
 * Packs a split of a data set into containers below a folder: OUT/SPLIT-000000.ENDING and
 * so on, or OUT/SPLIT.ENDING if a container holds a whole split.
 *
 * A container is written to OUT/.packing and moved to its place when it is complete. If
 * the program was killed, the next call of pack_split keeps the complete containers and
 * continues after them; the caller ensures that they have the same data set and options
 * (the manifest of cmd/pack.c).
 *
 * Samples keep their order. An unreadable sample is skipped with a warning, or ends the
 * program.
 */
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include "pack/encode.h"
#include "pack/format.h"

struct pack_options {
    const struct pack_format *format;
    struct pack_encoding encoding;
    const char *out; /* existing output folder */
    int64_t shard;   /* samples per container; 0: the whole split */
    int threads;
    bool fail; /* the first unreadable sample ends the program */
    void (*progress)(int64_t done, int64_t total, void *arg); /* may be NULL */
    void *arg;
};

struct pack_result {
    /* Samples: written; damaged and skipped; in containers that already existed. */
    int64_t samples, left_out, kept;
    int64_t bytes;  /* of images and label maps as written */
    int containers; /* without containers whose samples are all skipped */
};

struct pack_result pack_split(const struct pack_options *o, const struct dataset *d,
                              const char *split);

#endif
