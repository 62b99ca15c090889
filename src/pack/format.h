/*
 * The containers that can be written, one row each in table.c: the counterparts of the
 * readers in src/dataset. A new one is a file that defines pack_NAME, and a row.
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
    int32_t label;          /* -1 if there is none */
    const char *class_name; /* of the label, or NULL */
    const void *label_map;  /* or NULL */
    size_t label_map_len;
    const char *label_map_ending; /* ".png" */
};

struct pack_format {
    const char *name; /* DATA.DATASET */
    const char *help;
    const char *ending; /* extension of the file: ".tar" */
    bool single_file;   /* always one file per split */
    bool decodes;       /* stores pixels: images are always decoded */

    /*
     * Files are created as `dir`/`stem` + endings; when all are complete, the caller
     * moves them to their folder, the one with `ending` last. `first`: number of the
     * first sample. On failure these functions end the program with the path.
     */
    void *(*create)(const char *dir, const char *stem, int64_t first);
    void (*add)(void *file, const struct pack_sample *s);
    void (*finish)(void *file);
};

extern const struct pack_format *const pack_table[]; /* ended by NULL */
extern const struct names pack_names;
const struct pack_format *pack_find(const char *name); /* Returns NULL if there is no
                                                        * such format. */

#endif
