/*
 * Swin's layout: SPLIT.zip with uncompressed members, because images are already
 * compressed, and SPLIT_map.txt with a line "CLASS/KEY.jpg<tab>LABEL" per image. Samples
 * with label maps are named as in a tar and have no map.
 */
#include <archive.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "pack/archive.h"
#include "pack/file.h"
#include "pack/format.h"

struct zip {
    struct pack_archive archive;
    struct pack_file map;
    char *dir, *stem;
    bool has_map; /* `map` is open */
};

static int stored_zip(struct archive *a)
{
    int rc = archive_write_set_format_zip(a);

    return rc < ARCHIVE_OK ? rc : archive_write_zip_set_compression_store(a);
}

static void *zip_create(const char *dir, const char *stem, int64_t first)
{
    struct zip *z = xcalloc(1, sizeof(*z));

    (void)first;
    z->dir = xstrdup(dir);
    z->stem = xstrdup(stem);
    pack_archive_open(&z->archive, dir, stem, ".zip", stored_zip);
    return z;
}

/* Returns the folder of a sample's class (heap); characters with a meaning in the map or
 * in Swin's reader become '_'. */
static char *folder_name(const struct pack_sample *s)
{
    char *name = s->class_name ? xstrdup(s->class_name) : xasprintf("%d", s->label);

    for (char *p = name; *p; p++)
        if (strchr("/\\\t", *p) || (p == name && strchr(".# ", *p)))
            *p = '_';
    return name;
}

static void add_line(struct zip *z, const char *name, int32_t label)
{
    char *line = xasprintf("%s\t%d\n", name, label), *stem;

    if (!z->has_map) {
        stem = xasprintf("%s_map", z->stem);
        pack_file_open(&z->map, z->dir, stem, ".txt");
        free(stem);
    }
    z->has_map = true;
    pack_file_add(&z->map, line, strlen(line));
    free(line);
}

static void zip_add(void *file, const struct pack_sample *s)
{
    struct zip *z = file;
    char *folder = s->label >= 0 ? folder_name(s) : NULL;
    char *name = xasprintf("%s%s%08lld%s", folder ? folder : "", folder ? "/" : "",
                           (long long)s->number, s->ending);

    pack_archive_add(&z->archive, name, s->image, s->len);
    pack_archive_add_label_map(&z->archive, s);
    if (s->label >= 0)
        add_line(z, name, s->label);
    free(folder);
    free(name);
}

static void zip_finish(void *file)
{
    struct zip *z = file;

    pack_archive_close(&z->archive);
    if (z->has_map)
        pack_file_close(&z->map);
    free(z->dir);
    free(z->stem);
    free(z);
}

const struct pack_format pack_zip = {
    .name = "zip",
    .help = "a zip file and its map, as Swin's --zip reads them",
    .ending = ".zip",
    .single_file = true,
    .create = zip_create,
    .add = zip_add,
    .finish = zip_finish,
};
