/* Writes archives with libarchive, member by member. */
#ifndef PACK_ARCHIVE_H
#define PACK_ARCHIVE_H

#include <stddef.h>

#include "pack/format.h"

struct archive;
struct archive_entry;

struct pack_archive {
    struct archive *a;
    struct archive_entry *e;
    char *path;
};

/* On failure these functions end the program with the path. `format` selects the format
 * of the archive before it is opened and returns libarchive's result. */
void pack_archive_open(struct pack_archive *t, const char *dir, const char *stem,
                       const char *ending, int (*format)(struct archive *a));
void pack_archive_add(struct pack_archive *t, const char *name, const void *data,
                      size_t len);
void pack_archive_close(struct pack_archive *t);

/* Adds KEY.seg.png if the sample has a label map. */
void pack_archive_add_label_map(struct pack_archive *t, const struct pack_sample *s);

#endif
