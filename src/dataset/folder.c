/*
 * DATA.DATASET folder, torchvision's ImageFolder: SPLIT/CLASS/.../IMAGE at any depth,
 * links followed. Classes are the folders of SPLIT in byte order (torchvision's order;
 * timm's natural order puts class2 before class10), samples follow class by class in byte
 * order of their paths. Images are told by their names (image_has_extension). Hidden
 * files and folders are passed over; what else is left out is noted in the log. A class
 * folder without an image is an error.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "dataset/read.h"
#include "dataset/table.h"
#include "image/image.h"

struct folder {
    struct dataset base;
    struct folder_file {
        const char *path; /* below base.name; in mem */
        int32_t label;
    } * file;
    size_t cap;
    struct arena mem;
    int fd; /* of the folder: files are opened below it */

    int64_t other;           /* files that are not images */
    const char *other_first; /* one of them */
};

/* DT_DIR, DT_REG, or what it is. Most file systems tell without a stat. */
static int folder_kind(const char *path, const struct dirent *e)
{
    struct stat st;

    if (e->d_type != DT_UNKNOWN && e->d_type != DT_LNK)
        return e->d_type;
    if (stat(path, &st) < 0 && image_has_extension(path))
        return DT_REG; /* counts, so that reading it fails, which is told and counted */
    if (stat(path, &st) < 0) {
        log_warning("'%s' is left out: %s", path, strerror(errno));
        return DT_UNKNOWN;
    }
    return S_ISDIR(st.st_mode) ? DT_DIR : S_ISREG(st.st_mode) ? DT_REG : DT_UNKNOWN;
}

static void folder_add(struct folder *f, const char *path, int32_t label)
{
    const char *below = path + strlen(f->base.name) + 1;

    if (!image_has_extension(path)) {
        if (!f->other++)
            f->other_first = arena_strdup(&f->mem, below);
        return;
    }
    GROW(f->file, f->base.n, f->cap);
    f->file[f->base.n].path = arena_strdup(&f->mem, below);
    f->file[f->base.n].label = label;
    f->base.n++;
}

static DIR *folder_opendir(const char *path)
{
    DIR *d = opendir(path);

    if (!d)
        die("cannot open '%s': %s", path, strerror(errno));
    return d;
}

/* All images below `path`, in any order. */
static void folder_walk(struct folder *f, const char *path, int32_t label, int depth)
{
    DIR *d = folder_opendir(path);
    struct dirent *e;

    dataset_check_depth(path, depth);
    while ((e = readdir(d))) {
        char *below;
        int kind;

        if (e->d_name[0] == '.')
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
    const struct folder_file *x = a, *y = b;

    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void folder_add_class(struct folder *f, const char *name, size_t *cap)
{
    GROW(f->base.class_name, f->base.nclass, *cap);
    f->base.class_name[f->base.nclass++] = xstrdup(name);
}

/* The class folders, in byte order. */
static void folder_find_classes(struct folder *f)
{
    const char *dir = f->base.name;
    DIR *d = folder_opendir(dir);
    struct dirent *e;
    size_t cap = 0;
    int beside = 0;

    while ((e = readdir(d))) {
        char *path = path_join(dir, e->d_name);
        int kind = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0
                       ? DT_UNKNOWN
                       : folder_kind(path, e);

        if (kind == DT_DIR && e->d_name[0] == '.')
            log_info("'%s': hidden, so not a class", path);
        else if (kind == DT_DIR && !utf8_valid(e->d_name))
            die("'%s': the name of a class is no text in UTF-8, so checkpoints could not "
                "hold it",
                path);
        else if (kind == DT_DIR)
            folder_add_class(f, e->d_name, &cap);
        else if (kind == DT_REG && image_has_extension(e->d_name))
            beside++;
        free(path);
    }
    closedir(d);
    if (f->base.nclass == 0)
        die("'%s' has no class folders: pictures are expected in %s/CLASS/", dir, dir);
    if (beside)
        log_warning("'%s': left out: pictures beside the class folders (%d)", dir,
                    beside);
    qsort(f->base.class_name, (size_t)f->base.nclass, sizeof(char *),
          folder_compare_names);
}

/* Every class must have a picture: else the run would train and score a class of nothing.
 */
static void folder_check_counts(const struct folder *f, const int64_t *count)
{
    struct strbuf names = STRBUF_INIT;
    int empty = 0;

    for (int c = 0; c < f->base.nclass; c++) {
        if (count[c])
            continue;
        if (empty++ < 5)
            strbuf_addf(&names, "%s'%s'", empty > 1 ? ", " : "", f->base.class_name[c]);
    }
    if (empty > 5)
        strbuf_addf(&names, " and %d more", empty - 5);
    if (empty)
        die("'%s': no pictures in the class folder%s %s", f->base.name,
            empty > 1 ? "s" : "", names.buf);
    strbuf_release(&names);
}

static int32_t folder_label(const struct dataset *d, int64_t i)
{
    return ((const struct folder *)d)->file[i].label;
}

static void folder_describe(const struct dataset *d, int64_t i, struct strbuf *name)
{
    strbuf_addf(name, "%s/%s", d->name, ((const struct folder *)d)->file[i].path);
}

static int folder_read(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why)
{
    const struct folder *f = (const struct folder *)d;

    return dataset_read_at(f->fd, f->file[i].path, limit, out, why);
}

static void folder_close(struct dataset *d)
{
    struct folder *f = (struct folder *)d;

    for (int i = 0; i < d->nclass; i++)
        free(d->class_name[i]);
    free(d->class_name);
    free(d->name);
    free(f->file);
    close(f->fd);
    arena_release(&f->mem);
    free(f);
}

static void folder_warn_other(const struct folder *f)
{
    struct strbuf known = STRBUF_INIT;

    if (!f->other)
        return;
    image_add_extensions(&known);
    log_warning("'%s': left out: files whose names do not end in %s (%lld), such as '%s'",
                f->base.name, known.buf, (long long)f->other, f->other_first);
    strbuf_release(&known);
}

static const struct dataset_type folder_type = {
    .label = folder_label,
    .read = folder_read,
    .describe = folder_describe,
    .close = folder_close,
};

static char *folder_of(const struct dataset_source *s)
{
    return s->split && *s->split ? path_join(s->path, s->split) : xstrdup(s->path);
}

/* "; it has 'test', 'train'", or nothing */
static void folder_add_others(struct strbuf *s, const char *dir)
{
    enum { SHOWN = 6 };
    int n, shown = 0;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n && shown < SHOWN; i++) {
        char *path = path_join(dir, name[i]);

        if (name[i][0] != '.' && file_is_dir(path))
            strbuf_addf(s, "%s'%s'", shown++ ? ", " : "; it has ", name[i]);
        free(path);
    }
    if (shown == SHOWN)
        strbuf_addstr(s, ", ...");
    dir_list_free(name, n);
}

static bool folder_check(const struct dataset_source *s, struct strbuf *why)
{
    char *dir = folder_of(s);
    bool is = file_is_dir(dir);

    if (!is) {
        strbuf_addf(why, "'%s' has no folder '%s'", s->path, s->split);
        folder_add_others(why, s->path);
    }
    free(dir);
    return is;
}

/* Does one of the first entries have an image's name or, with `below`, is one of them a
 * folder with such an entry? */
static bool folder_has_image(const char *dir, bool below)
{
    enum { LOOKS = 100 };
    DIR *d = opendir(dir);
    struct dirent *e;
    bool has = false;

    for (int looks = 0; d && !has && looks < LOOKS && (e = readdir(d)); looks++) {
        char *path = path_join(dir, e->d_name);

        if (e->d_name[0] != '.')
            has = below ? folder_has_image(path, false) : image_has_extension(e->d_name);
        free(path);
    }
    if (d)
        closedir(d);
    return has;
}

static bool folder_probe(const struct dataset_source *s)
{
    char *dir = folder_of(s);
    bool has = folder_has_image(dir, true);

    free(dir);
    return has;
}

static struct dataset *folder_open(const struct dataset_source *s)
{
    struct folder *f = xcalloc(1, sizeof(*f));
    struct dataset *d = &f->base;
    size_t len;
    int64_t *count;

    d->type = &folder_type;
    d->name = folder_of(s);
    for (len = strlen(d->name); len > 1 && d->name[len - 1] == '/'; len--)
        d->name[len - 1] = '\0';
    folder_find_classes(f);
    f->fd = open(d->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (f->fd < 0)
        die("cannot open '%s': %s", d->name, strerror(errno));
    count = xcalloc((size_t)d->nclass, sizeof(*count));
    for (int c = 0; c < d->nclass; c++) {
        char *path = path_join(d->name, d->class_name[c]);
        int64_t before = d->n;

        folder_walk(f, path, c, 1);
        count[c] = d->n - before;
        free(path);
    }
    folder_warn_other(f);
    folder_check_counts(f, count);
    free(count);
    qsort(f->file, (size_t)d->n, sizeof(*f->file), folder_compare_files);
    return d;
}

const struct storage storage_folder = {
    .name = "folder",
    .alias = {"imagenet", "imagenet22K"}, /* Swin's */
    .help = "a folder for each class: SPLIT/CLASS/.../IMAGE",
    .labels = STORAGE_CLASSES,
    .stand_in = "synth shapes --size 224 --train 640 --val 160",
    .probe = folder_probe,
    .check = folder_check,
    .open = folder_open,
};
