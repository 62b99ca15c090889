#include "dataset/files.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "dataset/read.h"

struct files {
    struct dataset base;
    const char *const *path;
};

static const char *files_name(const struct dataset *d, int64_t i)
{
    return ((const struct files *)d)->path[i];
}

static int32_t files_label(const struct dataset *d, int64_t i)
{
    (void)d, (void)i;
    return 0;
}

static int files_read(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why)
{
    return dataset_read_at(AT_FDCWD, files_name(d, i), limit, out, why);
}

static void files_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    strbuf_addstr(name, files_name(d, i));
}

static void files_close(struct dataset *d)
{
    free(d->name);
    free(d);
}

static const struct dataset_type files_type = {
    .name = files_name,
    .label = files_label,
    .read = files_read,
    .describe = files_describe,
    .close = files_close,
};

struct dataset *dataset_of_files(const char *const *path, int64_t n)
{
    struct files *f = xcalloc(1, sizeof(*f));

    f->base.type = &files_type;
    f->base.name = xstrdup("the images");
    f->base.n = n;
    f->path = path;
    return &f->base;
}
