/* A file that is written sequentially, and finally once more at its start. */
#ifndef PACK_FILE_H
#define PACK_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pack_file {
    FILE *f;
    char *path;
    uint64_t size; /* bytes so far */
};

/* On failure these functions end the program with the path. */
void pack_file_open(struct pack_file *f, const char *dir, const char *stem,
                    const char *ending);
void pack_file_add(struct pack_file *f, const void *data, size_t len);
void pack_file_pad(struct pack_file *f, unsigned multiple); /* writes zeros up to the
                                                             * multiple */
void pack_file_head(struct pack_file *f, const void *data, size_t len);
void pack_file_close(struct pack_file *f); /* syncs to disk */

#endif
