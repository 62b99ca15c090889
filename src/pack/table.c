#include <string.h>

#include "pack/format.h"

/* The formats; a new one is a file and a word here. */
#define FORMATS(ROW) ROW(tar) ROW(zip) ROW(decoded) ROW(lmdb) MORE(ROW)
#define MORE(ROW)    ROW(recordio) ROW(tfrecord) ROW(hdf5)

#define FORMAT_DECLARE(name) extern const struct pack_format pack_##name;
#define FORMAT_POINTER(name) &pack_##name,

FORMATS(FORMAT_DECLARE)

const struct pack_format *const pack_table[] = {FORMATS(FORMAT_POINTER) NULL};

static struct named pack_at(const void *table, int i)
{
    const struct pack_format *const *row = table;

    while (i > 0 && *row) {
        row++;
        i--;
    }
    return *row ? (struct named){.name = (*row)->name, .help = (*row)->help}
                : (struct named){0};
}

const struct names pack_names = {.entry = pack_at, .table = pack_table};

const struct pack_format *pack_find(const char *name)
{
    for (const struct pack_format *const *row = pack_table; *row; row++)
        if (strcmp((*row)->name, name) == 0)
            return *row;
    return NULL;
}
