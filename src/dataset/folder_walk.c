#include "dataset/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "dataset/usual_names.h"
#include "image/image.h"

/* Returns DT_DIR, DT_REG, or another type. Calls stat only if the file system does not
 * report the type, or for a link. */
static int folder_kind(const char *path, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return e->d_type;
    if (stat(path, &st) < 0 && image_has_extension(path))
        return DT_REG; /* counts as an image; reading it fails and is reported */
    if (stat(path, &st) < 0) {
        log_warning("skipping '%s': %s", path, strerror(errno));
        return DT_UNKNOWN;
    }
    return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

static void folder_add(struct folder *f, const char *path, int32_t label)
{
    const char *below = path + strlen(f->files->root) + 1;

    if (image_has_extension(path))
        class_files_add(f->files, arena_strdup(&f->files->mem, below), label);
    else if (!f->other++)
        f->other_first = arena_strdup(&f->files->mem, below);
}

static DIR *folder_opendir(const char *path)
{
    DIR *d = opendir(path);

    if (!d)
        die("cannot open '%s': %s", path, strerror(errno));
    return d;
}

/* Records the folder's modification time; call before reading its entries. */
static void folder_add_dir(struct folder *f, DIR *d, const char *path)
{
    struct stat st;

    if (fstat(dirfd(d), &st) < 0)
        die("cannot read '%s': %s", path, strerror(errno));
    GROW(f->dir, f->ndir, f->dir_cap);
    f->dir[f->ndir++] = (struct folder_dir){
        arena_strdup(&f->files->mem, path + strlen(f->files->root) + 1), st.st_mtim};
}

/* Adds all images below `path`, unsorted. */
static void folder_walk(struct folder *f, const char *path, int32_t label, int depth)
{
    DIR *d = folder_opendir(path);
    struct dirent *e;

    dataset_check_depth(path, depth);
    folder_add_dir(f, d, path);
    while ((e = readdir(d))) {
        char *below;
        int kind;

        if (usual_is_system(e->d_name))
            continue;
        below = path_join(path, e->d_name);
        kind = folder_kind(below, e);
        if (kind == DT_DIR)
            folder_walk(f, below, label, depth + 1);
        else if (kind == DT_REG)
            folder_add(f, below, label);
        free(below);
    }
    closedir(d);
}

static int folder_compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int folder_compare_files(const void *a, const void *b)
{
    const struct class_file *x = a, *y = b;

    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void folder_add_class(struct dataset *d, const char *name, size_t *cap)
{
    GROW(d->class_name, d->nclass, *cap);
    d->class_name[d->nclass++] = xstrdup(name);
}

void folder_find_classes(struct folder *f)
{
    struct dataset *dst = &f->files->base;
    const char *dir = f->files->root;
    DIR *d = folder_opendir(dir);
    struct dirent *e;
    size_t cap = 0;
    struct strbuf passed = STRBUF_INIT;
    int outside = 0;

    while ((e = readdir(d))) {
        char *path = path_join(dir, e->d_name);
        int kind = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0
                       ? DT_UNKNOWN
                       : folder_kind(path, e);

        if (kind == DT_DIR && usual_is_system(e->d_name))
            strbuf_addf(&passed, "%s%s", passed.len ? ", " : "", e->d_name);
        else if (kind == DT_DIR && !utf8_valid(e->d_name))
            die("'%s': the class name is not valid UTF-8, so it could not be stored in "
                "checkpoints",
                path);
        else if (kind == DT_DIR)
            folder_add_class(dst, e->d_name, &cap);
        else if (kind == DT_REG && image_has_extension(e->d_name) &&
                 !usual_is_system(e->d_name))
            outside++;
        free(path);
    }
    closedir(d);
    if (passed.len)
        log_info("'%s': skipping folders that are not classes: %s", dir, passed.buf);
    strbuf_release(&passed);
    if (dst->nclass == 0)
        die("'%s' has no class folders: expected images in %s/CLASS/", dir, dir);
    if (outside)
        log_warning("'%s': skipping images outside the class folders (%d)", dir, outside);
    qsort(dst->class_name, (size_t)dst->nclass, sizeof(char *), folder_compare_names);
}

/* Ends the program if a class has no image. */
static void folder_check_counts(const struct folder *f, const int64_t *count)
{
    struct strbuf names = STRBUF_INIT;
    int empty = 0;

    for (int c = 0; c < f->files->base.nclass; c++) {
        if (count[c])
            continue;
        if (empty++ < 5)
            strbuf_addf(&names, "%s'%s'", empty > 1 ? ", " : "",
                        f->files->base.class_name[c]);
    }
    if (empty > 5)
        strbuf_addf(&names, " and %d more", empty - 5);
    if (empty)
        die("'%s': no images in the class folder%s %s", f->files->root,
            empty > 1 ? "s" : "", names.buf);
    strbuf_release(&names);
}

void folder_warn_other(const struct folder *f)
{
    struct strbuf known = STRBUF_INIT;

    if (!f->other)
        return;
    image_add_extensions(&known);
    log_warning("'%s': skipping files whose names do not end in %s (%lld), such as '%s'",
                f->files->root, known.buf, (long long)f->other, f->other_first);
    strbuf_release(&known);
}

void folder_find_files(struct folder *f)
{
    const struct dataset *d = &f->files->base;
    int64_t *count = xcalloc((size_t)d->nclass, sizeof(*count));

    for (int c = 0; c < d->nclass; c++) {
        char *path = path_join(f->files->root, d->class_name[c]);
        int64_t before = d->n;

        folder_walk(f, path, c, 1);
        count[c] = d->n - before;
        free(path);
    }
    folder_warn_other(f);
    folder_check_counts(f, count);
    free(count);
    qsort(f->files->file, (size_t)d->n, sizeof(*f->files->file), folder_compare_files);
}
