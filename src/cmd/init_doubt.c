/* Finds ambiguous layouts and lists the other possible readings: see cmd/init.h. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/say.h"
#include "cmd/init.h"
#include "dataset/folder_pairs.h"
#include "dataset/usual_names.h"
#include "image/image.h"

/* The subfolders of a folder, without system folders. */
struct folders {
    char **name;
    int n, cap;
};

static struct folders folders_of(const char *path)
{
    struct folders f = {0};

    f.name = dir_list(path, &f.cap);
    for (int i = 0; i < f.cap; i++) {
        char *below = path_join(path, f.name[i]), *name = f.name[i];

        if (!usual_is_system(name) && file_is_dir(below)) {
            f.name[i] = f.name[f.n];
            f.name[f.n++] = name;
        }
        free(below);
    }
    return f;
}

static void folders_release(struct folders *f)
{
    dir_list_free(f->name, f->cap);
}

/* Returns the path of the first CSV file in a folder as a heap string, or NULL. */
static char *csv_in(const char *path)
{
    int n;
    char **name = dir_list(path, &n), *found = NULL;

    for (int i = 0; i < n && !found; i++) {
        const char *ending = path_extension(name[i]);

        if (!usual_is_system(name[i]) &&
            (!strcasecmp(ending, ".csv") || !strcasecmp(ending, ".tsv")))
            found = path_join(path, name[i]);
    }
    dir_list_free(name, n);
    return found;
}

/* True if the folder directly contains images. */
static bool has_images(const char *path)
{
    int n;
    char **name = dir_list(path, &n);
    bool has = false;

    for (int i = 0; i < n && !has; i++)
        has = !usual_is_system(name[i]) && image_has_extension(name[i]);
    dir_list_free(name, n);
    return has;
}

/* ---- doubts ---- */

/* True if the name describes a role (split, images) rather than a class. */
static bool is_role_name(const char *name)
{
    struct usual_words w;

    (void)usual_words_parse(name, &w);
    return (!w.others && (w.split || w.role == USUAL_IMAGES)) || (w.role && w.split);
}

/* Returns the index of a folder whose files match most image names of folder i and may be
 * their label maps, or -1. */
static int find_label_maps(const char *dir, const struct folders *f, int i)
{
    for (int k = 0; k < f->n; k++) {
        struct usual_words w;
        int64_t n;

        if (k == i || !usual_words_parse(f->name[k], &w) || w.role != USUAL_LABELS ||
            w.others)
            continue;
        n = folder_pairs_count(dir, f->name[i], f->name[k]);
        if (n && 2 * n > folder_pairs_count(dir, f->name[i], f->name[i]))
            return k;
    }
    return -1;
}

static void find_class_ambiguity(const struct init_layout *l, const struct folders *f,
                                 const char *dir, struct strbuf *why)
{
    enum { FEW = 8 }; /* data sets with label maps have few folders */

    if (f->n == 1)
        strbuf_addf(why,
                    "'%s' is its only folder of images, and one class is not enough for "
                    "training",
                    f->name[0]);
    for (int i = 0; i < f->n && !why->len; i++)
        if (is_role_name(f->name[i]))
            strbuf_addf(why,
                        "'%s' is a usual name for a part of a data set, not for a class",
                        f->name[i]);
    for (int i = 0; i < f->n && f->n <= FEW && !why->len; i++) {
        int k = find_label_maps(dir, f, i);

        if (k >= 0)
            strbuf_addf(why,
                        "'%s' may be the label maps of '%s': their files have the "
                        "same names",
                        f->name[k], f->name[i]);
    }
    if (why->len && l->unread_csv)
        strbuf_addf(why, "; there is also '%s'", l->unread_csv);
}

static void find_pairs_ambiguity(const struct init_layout *l, struct strbuf *why)
{
    struct folder_pairs f;

    if (!folder_pairs_find(&f, l->path, l->train))
        return;
    if (f.others && strcmp(f.images, f.labels) == 0)
        strbuf_addf(
            why,
            "images and label maps are side by side in '%s', and %d other pairs of "
            "folders have matching names, too",
            f.images, f.others);
    else if (f.others)
        strbuf_addf(why,
                    "%d other folders could also be the images or label maps of '%s' "
                    "and '%s'",
                    f.others, f.images, f.labels);
    else if (2 * f.matched < f.nimages)
        strbuf_addf(
            why,
            "only %lld of %lld images in '%s' have a label map with the same name "
            "in '%s'",
            (long long)f.matched, (long long)f.nimages, *f.images ? f.images : l->path,
            *f.labels ? f.labels : l->path);
    folder_pairs_release(&f);
}

/* ---- readings ---- */

/* Appends a word, quoted for a shell if necessary. */
static void add_word(struct strbuf *s, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_-./+,:@%=";

    if (!word[strspn(word, plain)]) {
        strbuf_addstr(s, word);
        return;
    }
    strbuf_addch(s, '\'');
    for (; *word; word++)
        strbuf_addf(s, *word == '\'' ? "'\\%c'" : "%c", *word);
    strbuf_addch(s, '\'');
}

/* Logs "  trainc init DIR --as folder    # what that is". */
__attribute__((format(printf, 4, 5))) static void
log_layout(int *n, const char *path, const char *layout, const char *fmt, ...)
{
    struct strbuf s = STRBUF_INIT, what = STRBUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    strbuf_say_v(&what, fmt, ap);
    va_end(ap);
    strbuf_addstr(&s, "trainc init ");
    add_word(&s, path);
    if (layout)
        strbuf_addf(&s, " --as %s", layout);
    if (!(*n)++)
        log_info("possible layouts:");
    log_info("  %s    # %s", s.buf, what.buf);
    strbuf_release(&s);
    strbuf_release(&what);
}

static void log_class_layout(int *n, const struct init_layout *l, const char *dir)
{
    struct folders f = folders_of(dir);
    struct strbuf names = STRBUF_INIT;
    bool images = false;

    for (int i = 0; i < f.n && i < 4; i++) {
        char *below = path_join(dir, f.name[i]);

        strbuf_addf(&names, "%s%s", i ? ", " : "", f.name[i]);
        images = images || has_images(below);
        free(below);
    }
    if (images)
        log_layout(n, l->path, "folder", "one folder per class: %s%s", names.buf,
                   f.n > 4 ? ", ..." : "");
    strbuf_release(&names);
    folders_release(&f);
}

static void log_pairs_layout(int *n, const struct init_layout *l)
{
    static const char *const splits[] = {"", "train", "training"};
    const char *split = l->storage ? l->train : "";
    struct folder_pairs f;

    for (int i = 0; i < 3 && !*n; i++) {
        if (!folder_pairs_find(&f, l->path, i ? splits[i] : split))
            continue;
        log_layout(n, l->path, "pairs",
                   "%lld images in %s, with label maps of the same name in %s",
                   (long long)f.matched, *f.images ? f.images : "it",
                   *f.labels ? f.labels : "it");
        folder_pairs_release(&f);
    }
}

static void log_subfolder_layouts(int *n, const struct init_layout *l)
{
    enum { SHOWN = 4 };
    struct folders f = folders_of(l->path);

    for (int i = 0; i < f.n && i < SHOWN; i++) {
        char *below = path_join(l->path, f.name[i]);
        struct init_layout in;

        if (init_find(&in, below, NULL))
            log_layout(n, below, NULL, "%s", in.found);
        init_layout_release(&in);
        free(below);
    }
    folders_release(&f);
}

/* Suggests DATA.DATASET csv; that command reports what is missing. */
static void log_csv_layout(const struct init_layout *l)
{
    struct strbuf path = STRBUF_INIT;

    add_word(&path, l->path);
    log_info(
        "  trainc check --dataset csv --data-path %s    # images with classes listed "
        "in '%s'",
        path.buf, l->unread_csv);
    strbuf_release(&path);
}

#define LAYOUTS_IN_HELP                                                                  \
    "`trainc help DATA.DATASET` lists the layouts, such as train/CLASS/IMAGE with "      \
    "val/CLASS/IMAGE"

static void exit_with_layouts(const struct init_layout *l, const char *dir,
                              const char *why)
{
    int n = l->unread_csv != NULL;

    warn("the layout of '%s' is ambiguous: %s", l->path, why);
    if (n)
        log_info("possible layouts:");
    log_pairs_layout(&n, l);
    log_class_layout(&n, l, dir);
    log_subfolder_layouts(&n, l);
    if (l->unread_csv)
        log_csv_layout(l);
    if (!n)
        usage("no data set was found in '%s'; " LAYOUTS_IN_HELP, l->path);
    usage("no configuration was printed for '%s'; run the command of the right layout",
          l->path);
}

static void exit_unknown_layout(struct init_layout *l)
{
    struct strbuf why = STRBUF_INIT;
    int n = 0;

    if (has_images(l->path) && l->unread_csv)
        strbuf_addf(&why, "it has images but no class folders; there is also '%s'",
                    l->unread_csv);
    else if (has_images(l->path))
        strbuf_addstr(&why, "it has images, but neither class folders nor a list");
    if (why.len)
        exit_with_layouts(l, l->path, why.buf);
    log_subfolder_layouts(&n, l);
    usage("no known data set layout in '%s'; %s", l->path,
          n ? "the folders listed above may be data sets" : LAYOUTS_IN_HELP);
}

void init_check_ambiguity(struct init_layout *l)
{
    char *dir = path_join(l->path, l->train ? l->train : "");
    struct strbuf why = STRBUF_INIT;
    struct folders f = folders_of(dir);

    if (!l->storage || !strcmp(l->storage->name, "folder") ||
        !strcmp(l->storage->name, "pairs")) /* other storages read their own lists */
        l->unread_csv = csv_in(l->path);
    if (!l->storage)
        exit_unknown_layout(l);
    if (!strcmp(l->storage->name, "folder"))
        find_class_ambiguity(l, &f, dir, &why);
    else if (!strcmp(l->storage->name, "pairs"))
        find_pairs_ambiguity(l, &why);
    if (why.len)
        exit_with_layouts(l, dir, why.buf);
    folders_release(&f);
    strbuf_release(&why);
    free(dir);
}
