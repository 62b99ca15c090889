/* KEY.jpg, then KEY.cls or KEY.seg.png, as WebDataset names them; ustar, written with
 * libarchive. */
#include <archive.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "pack/archive.h"
#include "pack/format.h"

static void *tar_create(const char *dir, const char *stem, int64_t first)
{
    struct pack_archive *t = xcalloc(1, sizeof(*t));

    (void)first;
    pack_archive_open(t, dir, stem, ".tar", archive_write_set_format_ustar);
    return t;
}

static void member(struct pack_archive *t, int64_t number, const char *kind,
                   const void *data, size_t len)
{
    char *name = xasprintf("%08lld%s", (long long)number, kind);

    pack_archive_add(t, name, data, len);
    free(name);
}

static void tar_add(void *file, const struct pack_sample *s)
{
    struct pack_archive *t = file;

    member(t, s->number, s->ending, s->image, s->len);
    if (s->label >= 0) {
        char text[16];
        int n = snprintf(text, sizeof(text), "%d", s->label);

        member(t, s->number, ".cls", text, (size_t)n);
    }
    pack_archive_add_label_map(t, s);
}

static void tar_finish(void *file)
{
    pack_archive_close(file);
    free(file);
}

const struct pack_format pack_tar = {
    .name = "tar",
    .help = "tar files as WebDataset names their members",
    .ending = ".tar",
    .create = tar_create,
    .add = tar_add,
    .finish = tar_finish,
};
