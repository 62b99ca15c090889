/*
 * The containers that samples can be written to, one row each in table.c: the writers for
 * the readers of src/dataset. A new one is its own file, which defines pack_NAME, and a
 * row.
 */
#ifndef PACK_FORMAT_H
#define PACK_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/names.h"

struct pack_sample {
    int64_t number;     /* in the split, from 0: "00000042" */
    const char *ending; /* of the image: ".jpg" */
    const void *image;
    size_t len;
    int32_t label;          /* -1: none */
    const char *class_name; /* of the label; NULL: none */
    const void *label_map;  /* NULL: none */
    size_t label_map_len;
    const char *label_map_ending; /* ".png" */
};

struct pack_format {
    const char *name; /* DATA.DATASET */
    const char *help;
    const char *ending; /* of the file that is made: ".tar" */
    bool whole;         /* one file per split, whatever is asked for */
    bool decodes;       /* holds pixels: images are decoded whatever is asked for */

    /*
     * Files are made as `dir`/`stem` + endings; when all are complete, the caller moves
     * them to their folder, the one with `ending` last. `first`: number of the first
     * sample. If something cannot be written, these functions end the program with the
     * path.
     */
    void *(*create)(const char *dir, const char *stem, int64_t first);
    void (*add)(void *file, const struct pack_sample *s);
    void (*finish)(void *file);
};

extern const struct pack_format *const pack_table[]; /* ends with NULL */
extern const struct names pack_names;
const struct pack_format *pack_find(const char *name); /* NULL: there is none */

#endif
