/* The table of all storages, and lookups in it. */
#include "dataset/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

/* One word per storage. A new one is a file and a word here. */
#define FILES(ROW)                                                                       \
    ROW(folder)                                                                          \
    ROW(list) ROW(csv) ROW(cityscapes) ROW(voc) ROW(pairs) ROW(cifar) ROW(mnist)
#define CONTAINERS(ROW)                                                                  \
    ROW(tar) ROW(zip) ROW(decoded) ROW(lmdb) ROW(recordio) ROW(tfrecord)
#define MORE(ROW)     ROW(hdf5) ROW(synthetic)
#define STORAGES(ROW) FILES(ROW) CONTAINERS(ROW) MORE(ROW)

#define STORAGE_DECLARE(name) extern const struct storage storage_##name;
#define STORAGE_POINTER(name) &storage_##name,

STORAGES(STORAGE_DECLARE)

const struct storage *const storage_table[] = {STORAGES(STORAGE_POINTER) NULL};

static bool storage_is(const struct storage *row, const char *name)
{
    bool is = strcmp(row->name, name) == 0;

    for (const char *const *a = row->alias; !is && *a; a++)
        is = strcmp(*a, name) == 0;
    return is;
}

const struct storage *storage_find(const char *name)
{
    for (const struct storage *const *row = storage_table; *row; row++)
        if (storage_is(*row, name))
            return *row;
    return NULL;
}

/* Enumerates each row's name, followed by its aliases. */
static struct named storage_at(const void *table, int i)
{
    const struct storage *const *row = table;

    for (; *row; row++) {
        if (i == 0)
            return (struct named){.name = (*row)->name, .help = (*row)->help};
        i--;
        for (const char *const *a = (*row)->alias; *a; a++)
            if (i-- == 0)
                return (struct named){.name = *a, .help = (*row)->help};
    }
    return (struct named){0};
}

const struct names storage_names = {.entry = storage_at, .table = storage_table};

bool storage_reads(const struct storage *row, const char *key)
{
    for (const char *const *k = row->reads; k && *k; k++)
        if (strcmp(*k, key) == 0)
            return true;
    return false;
}

const struct storage *storage_probe(const struct storage *except,
                                    const struct dataset_source *s)
{
    for (const struct storage *const *row = storage_table; *row; row++)
        if (*row != except && (*row)->probe && (*row)->probe(s))
            return *row;
    return NULL;
}

void storage_add_guess(const struct storage *row, const struct dataset_source *s,
                       struct strbuf *out)
{
    const struct storage *other = storage_probe(row, s);
    struct dataset_source parent = *s;
    char *dir, *split;

    if (other)
        strbuf_addf(out, "'%s' looks like DATA.DATASET %s", s->path, other->name);
    if (other || file_is_dir(s->path))
        return;
    parent.path = dir = path_dirname(s->path);
    split = xstrdup(path_basename(s->path));
    split[strlen(split) - strlen(path_extension(split))] = '\0';
    parent.split = split;
    other = storage_probe(NULL, &parent);
    if (other)
        strbuf_addf(out, "'%s' looks like DATA.DATASET %s with a split '%s'", dir,
                    other->name, split);
    free(dir);
    free(split);
}

struct dataset *dataset_open(const char *name, const struct dataset_source *s)
{
    struct strbuf why = STRBUF_INIT;

    if (!names_known(&storage_names, name, &why))
        usage("DATA.DATASET %s", why.buf);
    return storage_find(name)->open(s);
}
