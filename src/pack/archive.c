#include "pack/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8_names.h"

static void check(const struct pack_archive *t, int rc)
{
    if (rc < ARCHIVE_OK)
        die("cannot write '%s': %s", t->path, archive_error_string(t->a));
}

void pack_archive_open(struct pack_archive *t, const char *dir, const char *stem,
                       const char *ending, int (*format)(struct archive *a))
{
    t->path = xasprintf("%s/%s%s", dir, stem, ending);
    t->a = archive_write_new();
    t->e = archive_entry_new();
    check(t, format(t->a));
    check(t, archive_write_open_filename(t->a, t->path));
}

void pack_archive_add(struct pack_archive *t, const char *name, const void *data,
                      size_t len)
{
    locale_t before = utf8_names_begin(); /* a zip declares its names UTF-8 */

    archive_entry_clear(t->e);
    archive_entry_set_pathname(t->e, name);
    archive_entry_set_size(t->e, (la_int64_t)len);
    archive_entry_set_filetype(t->e, AE_IFREG);
    archive_entry_set_perm(t->e, 0644);
    check(t, archive_write_header(t->a, t->e));
    utf8_names_end(before);
    if (archive_write_data(t->a, data, len) != (la_ssize_t)len)
        check(t, ARCHIVE_FATAL);
}

void pack_archive_add_label_map(struct pack_archive *t, const struct pack_sample *s)
{
    char *name = xasprintf("%08lld.seg%s", (long long)s->number, s->label_map_ending);

    if (s->label_map)
        pack_archive_add(t, name, s->label_map, s->label_map_len);
    free(name);
}

void pack_archive_close(struct pack_archive *t)
{
    check(t, archive_write_close(t->a));
    archive_write_free(t->a);
    archive_entry_free(t->e);
    free(t->path);
}
