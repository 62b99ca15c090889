/* A file that is written from front to back, and once more at its head. */
#ifndef PACK_FILE_H
#define PACK_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct pack_file {
    FILE *f;
    char *path;
    uint64_t at; /* bytes so far */
};

/* All of them end the program with the path if they fail. */
void pack_file_open(struct pack_file *f, const char *dir, const char *stem,
                    const char *ending);
void pack_file_add(struct pack_file *f, const void *data, size_t len);
void pack_file_pad(struct pack_file *f, unsigned multiple); /* zeros up to it */
void pack_file_head(struct pack_file *f, const void *data, size_t len);
void pack_file_close(struct pack_file *f); /* and on the disk */

#endif
