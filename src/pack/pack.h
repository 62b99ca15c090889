/*
 * A split of a data set into containers below a folder: OUT/SPLIT-000000.ENDING and so
 * on, or OUT/SPLIT.ENDING where a container holds a whole split.
 *
 * A container is made in OUT/.packing and moved to its place when it is whole. Called
 * again after the program was killed, pack_split keeps those that are there and goes on
 * after them; the caller makes sure that they are of the same data set and made in the
 * same way (the manifest of cmd/pack.c).
 *
 * Samples keep their order. A sample that cannot be read is left out with a line in the
 * log, or ends the program.
 */
#ifndef PACK_PACK_H
#define PACK_PACK_H

#include "pack/encode.h"
#include "pack/format.h"

struct pack_options {
    const struct pack_format *format;
    struct pack_encoding encoding;
    const char *out; /* the folder; it exists */
    int64_t shard;   /* samples per container; 0: all of the split */
    int threads;
    bool fail; /* the first sample that cannot be read ends the program */
    void (*progress)(int64_t done, int64_t total, void *arg); /* or NULL */
    void *arg;
};

struct pack_result {
    /* Samples: written; damaged and left out; in containers that were there already. */
    int64_t samples, left_out, kept;
    int64_t bytes; /* of images and label maps, as they were written */
    int containers; /* one whose samples are all left out is not written */
};

struct pack_result pack_split(const struct pack_options *o, const struct dataset *d,
                              const char *split);

#endif
