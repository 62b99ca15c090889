#include "dataset/class_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/class_names.h"
#include "dataset/read.h"

static const struct class_files *to_class_files(const struct dataset *d)
{
    return (const struct class_files *)d;
}

static int32_t class_files_label(const struct dataset *d, int64_t i)
{
    return to_class_files(d)->file[i].label;
}

static const char *class_files_name(const struct dataset *d, int64_t i)
{
    return to_class_files(d)->file[i].path;
}

static void class_files_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    const char *path = to_class_files(d)->file[i].path;

    if (*path == '/')
        strbuf_addstr(name, path);
    else
        strbuf_addf(name, "%s/%s", to_class_files(d)->root, path);
}

static int class_files_read(const struct dataset *d, int64_t i, int64_t limit,
                            struct dataset_bytes *out, struct strbuf *why)
{
    return dataset_read_at(to_class_files(d)->fd, to_class_files(d)->file[i].path, limit, out, why);
}

static bool class_files_stamp(const struct dataset *d, int64_t i, struct strbuf *out)
{
    return dataset_stamp_file(to_class_files(d)->fd, to_class_files(d)->file[i].path, out);
}

static void class_files_close(struct dataset *d)
{
    struct class_files *f = (struct class_files *)d;

    class_names_free(d);
    free(d->name);
    free(f->file);
    free(f->text);
    free(f->root);
    close(f->fd);
    arena_release(&f->mem);
    free(f);
}

static double class_files_weight(const struct dataset *d, int64_t i)
{
    return (double)to_class_files(d)->file[i].weight;
}

#define CLASS_FILES_MEMBERS                                                              \
    .name = class_files_name, .label = class_files_label, .read = class_files_read,      \
    .describe = class_files_describe, .stamp = class_files_stamp,                        \
    .close = class_files_close

static void class_files_targets(const struct dataset *d, int64_t i, void *target)
{
    memcpy(target, to_class_files(d)->file[i].target, dataset_target_size(d));
}

static const struct dataset_type class_files_type = {CLASS_FILES_MEMBERS};
static const struct dataset_type set_type = {CLASS_FILES_MEMBERS,
                                             .targets = class_files_targets};
static const struct dataset_type weighted_set_type = {CLASS_FILES_MEMBERS,
                                                      .targets = class_files_targets,
                                                      .weight = class_files_weight};
static const struct dataset_type weighted_type = {CLASS_FILES_MEMBERS,
                                                  .weight = class_files_weight};

void class_files_set_weighted(struct class_files *f)
{
    f->base.type = f->base.type == &set_type ? &weighted_set_type : &weighted_type;
}

struct class_files *class_files_new(const char *root, const char *name)
{
    struct class_files *f = xcalloc(1, sizeof(*f));

    f->base.type = &class_files_type;
    f->base.name = xstrdup(name);
    f->root = xstrdup(root);
    f->fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0)
        die("cannot open '%s': %s", root, strerror(errno));
    return f;
}

void class_files_add(struct class_files *f, const char *path, int32_t label)
{
    GROW(f->file, f->base.n, f->cap);
    f->file[f->base.n++] = (struct class_file){path, label, NULL, 1};
}

static void add_targets(struct class_files *f, const char *path, int32_t label,
                        const void *target)
{
    class_files_add(f, path, label);
    f->file[f->base.n - 1].target = target;
    f->base.type = f->base.type == &weighted_type || f->base.type == &weighted_set_type
                       ? &weighted_set_type
                       : &set_type;
}

void class_files_add_set(struct class_files *f, const char *path, const uint8_t *target)
{
    int32_t label = -1; /* if all labels are unknown */

    for (int k = 0; k < f->base.nclass; k++)
        label = target[k] == TARGET_UNKNOWN ? label : 0;
    add_targets(f, path, label, target);
}

void class_files_add_values(struct class_files *f, const char *path, const float *value)
{
    f->base.values = true;
    add_targets(f, path, 0, value);
}
