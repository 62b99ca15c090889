#include "cmd/init.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/cache_dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "dataset/folder_pairs.h"
#include "dataset/usual_names.h"
#include "image/image.h"

/* Usual split names, in order of preference. */
static const char *const train_names[] = {"train", "training", "Train", "Training",
                                          "trn"};
static const char *const val_names[] = {"val",        "valid",  "validation", "Val",
                                        "Validation", "dev",    "test",       "testing",
                                        "Test",       "Testing"};
enum {
    TRAIN_NAMES = sizeof(train_names) / sizeof(*train_names),
    VAL_NAMES = sizeof(val_names) / sizeof(*val_names),
    VAL_EACH = 10 /* without splits, one in 10 images of each class is for validation */
};

struct dataset_source init_source(const struct init_layout *l, const char *split,
                                  int classes)
{
    return (struct dataset_source){.path = l->path,
                                   .split = split,
                                   .keep = cache_dir("auto"),
                                   .labels = {.classes = classes},
                                   .label_maps = l->label_maps,
                                   .multilabel = l->label_sets,
                                   .values = l->values};
}

/* Returns the storage whose probe accepts the split, or NULL. only: the only storage to
 * try, or NULL for all. */
static const struct storage *probe_storage(const struct init_layout *l, const char *split,
                                           const struct storage *only)
{
    struct dataset_source s = init_source(l, split, LABEL_CLASSES);
    struct strbuf unused = STRBUF_INIT;
    bool is;

    if (!only)
        return storage_probe(NULL, &s);
    is = only->probe(&s) ||
         (only == storage_find("folder") && *split && only->check(&s, &unused));
    strbuf_release(&unused);
    return is ? only : NULL;
}

/* Possible split names: the usual ones, then those of folders. */
struct split_names {
    char **name;
    int n, cap;
};

static void add_split(struct split_names *dst, const char *name)
{
    for (int i = 0; i < dst->n; i++)
        if (!strcmp(dst->name[i], name))
            return;
    GROW(dst->name, dst->n, dst->cap);
    dst->name[dst->n++] = xstrdup(name);
}

static void split_names_release(struct split_names *s)
{
    for (int i = 0; i < s->n; i++)
        free(s->name[i]);
    free(s->name);
}

/* Adds split names of folders: "Training" for Training/, "seg_train" for seg_train/,
 * "train2017" for images/train2017/.
 * rest: the other words that the folder name must have, or NULL. */
static void add_folder_splits(struct split_names *dst, const char *path,
                              enum usual_split kind, const char *rest, int depth)
{
    int n;
    char **name = dir_list(path, &n);

    for (int i = 0; i < n; i++) {
        char *below = path_join(path, name[i]);
        struct usual_words w;

        if (usual_is_system(name[i]) || !usual_words_parse(name[i], &w) ||
            !(w.role || w.split) || !file_is_dir(below)) {
            free(below);
            continue;
        }
        if (w.split == kind && (!rest || !strcmp(w.rest, rest)))
            add_split(dst, w.role || depth ? w.split_word : name[i]);
        if (w.role && !depth)
            add_folder_splits(dst, below, kind, rest, depth + 1);
        free(below);
    }
    dir_list_free(name, n);
}

static void find_val(struct init_layout *l, const struct storage *only)
{
    struct split_names names = {0};
    struct usual_words w;

    for (int i = 0; i < VAL_NAMES; i++)
        add_split(&names, val_names[i]);
    (void)usual_words_parse(l->train, &w);
    add_folder_splits(&names, l->path, USUAL_VAL, w.rest, 0);
    add_folder_splits(&names, l->path, USUAL_TEST, w.rest, 0);
    for (int i = 0; i < names.n && !l->val; i++)
        if (strcmp(names.name[i], l->train) != 0 &&
            probe_storage(l, names.name[i], only) == l->storage)
            l->val = l->own_val = xstrdup(names.name[i]);
    split_names_release(&names);
}

static bool find_splits(struct init_layout *l, const struct storage *only)
{
    struct split_names names = {0};
    struct dataset_source source;

    for (int i = 0; i < TRAIN_NAMES; i++)
        add_split(&names, train_names[i]);
    add_folder_splits(&names, l->path, USUAL_TRAIN, NULL, 0);
    for (int i = 0; i < names.n && !l->storage; i++)
        if ((l->storage = probe_storage(l, names.name[i], only)))
            l->train = l->own_train = xstrdup(names.name[i]);
    split_names_release(&names);
    if (!l->storage)
        return false;
    find_val(l, only);
    source = init_source(l, l->train, LABEL_CLASSES);
    l->label_maps = l->storage->labels == STORAGE_LABEL_MAPS ||
                    (l->storage->has_label_maps && l->storage->has_label_maps(&source));
    l->label_sets = l->storage->has_label_sets && l->storage->has_label_sets(&source);
    l->values = !l->label_maps && !l->label_sets && l->storage->has_values &&
                l->storage->has_values(&source, &l->value_columns, &l->value_why);
    l->found = xasprintf("%s: %s", l->storage->name, l->storage->help);
    return true;
}

/* ---- lists ---- */

struct lists {
    const char *dir;
    struct strbuf train, val;
    struct strbuf classes; /* the lines of classes.txt; empty if it is not needed */
    bool numbers;          /* the lists hold class indices, not names */
    int n, left_out;
};

/* True if a line of a list cannot hold the name. */
static bool breaks_line(const char *name)
{
    return strpbrk(name, "\t\n\r") != NULL;
}

static void add_line(struct lists *l, bool val, const char *image, const char *label)
{
    struct strbuf *dst = val ? &l->val : &l->train;

    if (breaks_line(image) || breaks_line(label)) {
        if (!l->left_out++)
            log_warning("skipping '%s': lists cannot hold names with tabs or line breaks",
                        breaks_line(image) ? image : label);
        return;
    }
    strbuf_addf(dst, "%s\t%s\n", image, label);
    l->n++;
}

static void check_list(const char *dir, const char *name, const struct strbuf *s)
{
    char *path = path_join(dir, name);

    if (file_exists(path))
        usage("--lists: '%s' already exists; choose another folder", path);
    if (!s->len)
        die("no images for '%s'", path);
    free(path);
}

static void write_list(const char *dir, const char *name, struct strbuf *s)
{
    char *path = path_join(dir, name);

    if (dir_make_all(dir) || atomic_write_file(path, s->buf, s->len))
        die("cannot write '%s': %s", path, strerror(errno));
    log_info("wrote '%s'", path);
    strbuf_release(s);
    free(path);
}

static void use_lists(struct init_layout *l, struct lists *s, char *found)
{
    check_list(s->dir, "train.txt", &s->train);
    check_list(s->dir, "val.txt", &s->val); /* before anything is written */
    if (s->classes.len)
        check_list(s->dir, "classes.txt", &s->classes);
    if (s->left_out > 1)
        log_warning("skipped %d images whose names lists cannot hold", s->left_out);
    write_list(s->dir, "train.txt", &s->train);
    write_list(s->dir, "val.txt", &s->val);
    if (s->classes.len)
        write_list(s->dir, "classes.txt", &s->classes);
    l->own_path = realpath(s->dir, NULL);
    l->path = l->own_path ? l->own_path : s->dir;
    l->storage = storage_find("list");
    l->train = "train";
    l->val = "val";
    l->found = found;
}

/* Returns the absolute path of a sample or label map as a heap string, or NULL. */
static char *full_path(const struct dataset *d, int64_t i,
                       void (*describe)(const struct dataset *, int64_t, struct strbuf *))
{
    struct strbuf name = STRBUF_INIT;
    char *full;

    describe(d, i, &name);
    full = realpath(name.buf, NULL);
    strbuf_release(&name);
    return full;
}

/* Adds sample i. Of each VAL_EACH samples of a class the first is for validation. before:
 * number of earlier samples of its class. */
static void add_image(struct lists *s, const struct dataset *d, int64_t i, int64_t before)
{
    char *full = full_path(d, i, dataset_describe), *map = NULL, number[16];
    const char *label = number;
    int32_t class = dataset_label(d, i);

    (void)snprintf(number, sizeof(number), "%d", class);
    if (dataset_has_labels(d))
        label = map = full_path(d, i, dataset_describe_label);
    else if (!s->numbers)
        label = d->class_name[class];
    if (full && label)
        add_line(s, before % VAL_EACH == 0, full, label);
    free(map);
    free(full);
}

/* True if a list would read the name as a class index or truncate it. */
static bool needs_class_index(const char *name)
{
    return !name[strspn(name, "0123456789")] || breaks_line(name) ||
           isspace((unsigned char)*name);
}

/* Adds a line of classes.txt, replacing characters that classes.txt cannot hold: a leading
 * # or space, a trailing space, and control characters. */
static void add_class_line(struct strbuf *dst, const char *name)
{
    if (strchr("# ", *name))
        strbuf_addch(dst, '_');
    for (const char *c = name; *c; c++)
        strbuf_addch(dst, (unsigned char)*c < ' ' || (*c == ' ' && !c[1]) ? '_' : *c);
    strbuf_addch(dst, '\n');
}

/* Writes classes.txt, and indices into it, if a list cannot hold the class names. */
static void add_classes(struct lists *s, const struct dataset *d)
{
    for (int c = 0; c < d->nclass; c++)
        s->numbers = s->numbers || needs_class_index(d->class_name[c]);
    for (int c = 0; s->numbers && c < d->nclass; c++)
        add_class_line(&s->classes, d->class_name[c]);
}

static void check_counts(const struct init_layout *l, const struct dataset *d,
                         const int64_t *seen)
{
    for (int c = 0; c < d->nclass; c++)
        if (seen[c] == 1)
            usage("'%s' has only one image of class '%s'; each class needs one for "
                  "training and one for validation",
                  l->path, d->class_name[c]);
}

/* Divides the images of a split into two lists. */
static void make_lists(struct init_layout *l, const char *dir)
{
    struct lists s = {.dir = dir};
    struct dataset_source source = init_source(l, l->train, LABEL_CLASSES);
    struct dataset *d = l->storage->open(&source);
    int64_t *seen = xcalloc((size_t)d->nclass, sizeof(*seen));
    char *found = l->found;

    if (!l->label_maps)
        add_classes(&s, d);
    for (int64_t i = 0; i < d->n; i++)
        add_image(&s, d, i, seen[dataset_label(d, i)]++);
    check_counts(l, d, seen);
    free(seen);
    dataset_close(d);
    use_lists(
        l, &s,
        xasprintf("%s; no validation split found: uses one in %d images of each class",
                  found, VAL_EACH));
    free(found);
}

/* Describes a detected layout of images and label maps in l->found. */
static void describe_pairs(struct init_layout *l)
{
    struct folder_pairs f;

    if (l->storage != storage_find("pairs") || !folder_pairs_find(&f, l->path, l->train))
        return;
    free(l->found);
    if (strcmp(f.images, f.labels) == 0)
        l->found = xasprintf("label maps next to their images%s%s, such as a.jpg and "
                             "a_mask.png; %lld of %lld images have one",
                             *f.images ? " in " : "", f.images, (long long)f.matched,
                             (long long)f.nimages);
    else
        l->found =
            xasprintf("images in %s and label maps in %s; %lld of %lld images have a "
                      "label map with the same name",
                      f.images, f.labels, (long long)f.matched, (long long)f.nimages);
    folder_pairs_release(&f);
}

bool init_find(struct init_layout *l, const char *path, const struct storage *only)
{
    static const char *const whole[] = {"pairs", "folder"};

    *l = (struct init_layout){.path = path};
    (void)find_splits(l, only);
    for (int i = 0; i < 2 && !l->storage; i++) {
        const struct storage *row = storage_find(whole[i]);

        if ((only && only != row) || (!only && !probe_storage(l, "", row)))
            continue;
        l->storage = row;
        l->train = "";
        l->label_maps = row->labels == STORAGE_LABEL_MAPS;
        l->found = xstrdup("one folder per class, no splits");
    }
    if (l->storage)
        describe_pairs(l);
    return l->storage;
}

void init_layout(struct init_layout *l, const char *path, const char *lists,
                 const char *layout)
{
    const struct storage *only = layout ? storage_find(layout) : NULL;
    struct strbuf why = STRBUF_INIT;

    if (layout && (!names_known(&storage_names, layout, &why) || only->generated))
        usage("--as: %s", why.len ? why.buf : "must be a storage that reads files");
    if (!init_find(l, path, only) && only)
        usage("--as %s: '%s' does not have this layout: %s", layout, path, only->help);
    if (!only)
        init_check_ambiguity(l);
    if (lists && (l->val || !(l->storage == storage_find("folder") ||
                              l->storage == storage_find("pairs"))))
        usage("--lists has no effect: '%s' already has lists or splits", path);
    if (lists)
        make_lists(l, lists);
    strbuf_release(&why);
}

void init_layout_release(struct init_layout *l)
{
    free(l->found);
    free(l->unread_csv);
    free(l->own_path);
    free(l->own_train);
    free(l->own_val);
    strbuf_release(&l->value_columns);
    strbuf_release(&l->value_why);
}
