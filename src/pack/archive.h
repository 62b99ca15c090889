/* Archives that libarchive writes, member by member. */
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

/* All of them end the program with the path if they fail. `format` chooses the format of
 * the archive that is given, before it is opened; its result is libarchive's. */
void pack_archive_open(struct pack_archive *t, const char *dir, const char *stem,
                       const char *ending, int (*format)(struct archive *a));
void pack_archive_add(struct pack_archive *t, const char *name, const void *data,
                      size_t len);
void pack_archive_close(struct pack_archive *t);

/* KEY.seg.png, if the sample has a label map. */
void pack_archive_add_label_map(struct pack_archive *t, const struct pack_sample *s);

#endif
