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
#include "base/strmap.h"
#include "image/image.h"

/* Usual names of splits, in the order in which they are tried. */
static const char *const train_names[] = {"train", "training", "Train", "Training",
                                          "trn"};
static const char *const val_names[] = {"val",        "valid",  "validation", "Val",
                                        "Validation", "dev",    "test",       "testing",
                                        "Test",       "Testing"};
enum {
    TRAIN_NAMES = sizeof(train_names) / sizeof(*train_names),
    VAL_NAMES = sizeof(val_names) / sizeof(*val_names),
    VAL_EACH = 10 /* without splits one image of so many is for validation */
};

/* Usual folders of images and of label maps, which match by name; $ is the name of a
 * split. */
static const struct {
    const char *image, *label;
} pair_folders[] = {
    {"images/$", "labels/$"},
    {"images/$", "masks/$"},
    {"images/$", "annotations/$"},
    {"img/$", "mask/$"},
    {"$/images", "$/masks"},
    {"$/images", "$/labels"},
    {"$/image", "$/label"},
    {"$", "$annot"},
    {"$", "$_labels"},
    {"images", "masks"},
    {"images", "labels"},
    {"images", "annotations"},
    {"image", "label"},
    {"img", "mask"},
    {"imgs", "masks"},
    {"JPEGImages", "SegmentationClass"},
};
enum { PAIR_FOLDERS = sizeof(pair_folders) / sizeof(*pair_folders) };

struct dataset_source init_source(const struct init_layout *l, const char *split,
                                  int classes)
{
    return (struct dataset_source){.path = l->path,
                                   .split = split,
                                   .keep = cache_dir("auto"),
                                   .labels = {.classes = classes},
                                   .label_maps = l->label_maps};
}

static const struct storage *storage_of(const struct init_layout *l, const char *split)
{
    struct dataset_source s = init_source(l, split, LABEL_CLASSES);

    return storage_probe(NULL, &s);
}

/* Does the list of the split name label maps rather than classes? */
static bool lists_pairs(const char *path, const char *split)
{
    char *name = xasprintf("%s/%sImages.txt", path, split);
    char *list = xasprintf("%s/%s.txt", path, split), *text = file_read(list, NULL);
    char *line = text;
    bool pairs = file_exists(name);

    while (line && (*line == '#' || *line == '\n'))
        line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL;
    if (line) {
        line[strcspn(line, "\r\n")] = '\0';
        pairs = pairs || image_has_extension(line);
    }
    free(text);
    free(list);
    free(name);
    return pairs;
}

static bool find_splits(struct init_layout *l)
{
    for (int i = 0; i < TRAIN_NAMES && !l->storage; i++)
        if ((l->storage = storage_of(l, train_names[i])))
            l->train = train_names[i];
    for (int i = 0; l->storage && i < VAL_NAMES && !l->val; i++)
        if (storage_of(l, val_names[i]) == l->storage)
            l->val = val_names[i];
    if (!l->storage)
        return false;
    l->label_maps =
        l->storage->labels == STORAGE_LABEL_MAPS ||
        (l->storage->labels == STORAGE_EITHER && lists_pairs(l->path, l->train));
    l->found = xasprintf("%s: %s", l->storage->name, l->storage->help);
    return true;
}

/* ---- lists ---- */

struct lists {
    const char *dir;
    struct strbuf train, val;
    struct strbuf classes; /* the lines of classes.txt; empty: there is none */
    bool numbers;          /* the lists have indices into classes.txt, not names */
    int n, left_out;
};

/* A line of a list cannot hold these. */
static bool breaks_line(const char *name)
{
    return strpbrk(name, "\t\n\r") != NULL;
}

static void add_line(struct lists *l, bool val, const char *image, const char *label)
{
    struct strbuf *to = val ? &l->val : &l->train;

    if (breaks_line(image) || breaks_line(label)) {
        if (!l->left_out++)
            log_warning(
                "'%s' is left out: a list cannot hold a name with a tab or a line "
                "break",
                breaks_line(image) ? image : label);
        return;
    }
    strbuf_addf(to, "%s\t%s\n", image, label);
    l->n++;
}

static void check_list(const char *dir, const char *name, const struct strbuf *s)
{
    char *path = path_join(dir, name);

    if (file_exists(path))
        usage("--lists: '%s' is there already", path);
    if (!s->len)
        die("no image is left for '%s'", path);
    free(path);
}

static void write_list(const char *dir, const char *name, struct strbuf *s)
{
    char *path = path_join(dir, name);

    if (dir_make_all(dir) || atomic_write_file(path, s->buf, s->len))
        die("cannot write '%s': %s", path, strerror(errno));
    log_info("'%s' is written", path);
    strbuf_release(s);
    free(path);
}

static void use_lists(struct init_layout *l, struct lists *s, bool label_maps,
                      char *found)
{
    if (!s->dir)
        usage("'%s' has %s: --lists FOLDER writes train.txt and val.txt there, which the "
              "configuration then names",
              l->path, found);
    check_list(s->dir, "train.txt", &s->train);
    check_list(s->dir, "val.txt", &s->val); /* before anything is written */
    if (s->classes.len)
        check_list(s->dir, "classes.txt", &s->classes);
    if (s->left_out > 1)
        log_warning("%d images are left out of the lists for their names", s->left_out);
    write_list(s->dir, "train.txt", &s->train);
    write_list(s->dir, "val.txt", &s->val);
    if (s->classes.len)
        write_list(s->dir, "classes.txt", &s->classes);
    l->own_path = realpath(s->dir, NULL);
    l->path = l->own_path ? l->own_path : s->dir;
    l->storage = storage_find("list");
    l->train = "train";
    l->val = "val";
    l->label_maps = label_maps;
    l->found = found;
}

/* "images/$" with the split in it, below the path; a heap string. */
static char *folder_of(const char *path, const char *form, const char *split)
{
    struct strbuf s = STRBUF_INIT;

    strbuf_addf(&s, "%s/", path);
    for (const char *c = form; *c; c++)
        if (*c == '$')
            strbuf_addstr(&s, split);
        else
            strbuf_addch(&s, *c);
    return strbuf_detach(&s);
}

static char *stem_of(const char *name)
{
    return xstrndup(name, strlen(name) - strlen(path_extension(name)));
}

/* The label map of an image: NAME.png, NAME_mask.png, ...; NULL: there is none. */
static char *label_of(const char *dir, const char *image)
{
    static const char *const ends[] = {"",   "_mask", "_label", "_labels",
                                       "_L", "_seg",  "_gt"};
    char *stem = stem_of(image), *found = NULL;

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends) && !found; i++) {
        char *path = xasprintf("%s/%s%s.png", dir, stem, ends[i]);

        if (file_exists(path))
            found = path;
        else
            free(path);
    }
    free(stem);
    return found;
}

/* Adds the pairs of two folders. `split` 1: all for validation; 0: for training; -1: one
 * of VAL_EACH for validation. How many. */
static int add_pairs(struct lists *l, const char *images, const char *labels, int split)
{
    int n, found = 0;
    char **name = dir_list(images, &n);

    for (int i = 0; i < n; i++) {
        char *label = image_has_extension(name[i]) ? label_of(labels, name[i]) : NULL;
        char *image = path_join(images, name[i]), *full = realpath(image, NULL);
        char *full_label = label ? realpath(label, NULL) : NULL;

        if (full && full_label) {
            add_line(l, split > 0 || (split < 0 && found % VAL_EACH == 0), full,
                     full_label);
            found++;
        }
        free(full_label);
        free(full);
        free(image);
        free(label);
    }
    dir_list_free(name, n);
    return found;
}

static int add_pairs_of(struct lists *l, const char *path, int row, const char *split,
                        int which)
{
    char *image = folder_of(path, pair_folders[row].image, split);
    char *label = folder_of(path, pair_folders[row].label, split);
    int n =
        file_is_dir(image) && file_is_dir(label) ? add_pairs(l, image, label, which) : 0;

    free(image);
    free(label);
    return n;
}

static bool find_pairs_row(struct init_layout *l, struct lists *s, int row)
{
    bool split = strchr(pair_folders[row].image, '$') != NULL;
    int n = 0, val = 0;

    for (int i = 0; i < (split ? TRAIN_NAMES : 1) && !n; i++)
        n = add_pairs_of(s, l->path, row, train_names[i], split ? 0 : -1);
    for (int i = 0; split && n && i < VAL_NAMES && !val; i++)
        val = add_pairs_of(s, l->path, row, val_names[i], 1);
    if (!n || (split && !val))
        return false; /* training alone: another form may have both */
    use_lists(l, s, true,
              xasprintf("pairs of an image and a label map by their names, %s and %s",
                        pair_folders[row].image, pair_folders[row].label));
    return true;
}

static bool find_pairs(struct init_layout *l, const char *dir)
{
    for (int i = 0; i < PAIR_FOLDERS; i++) {
        struct lists s = {.dir = dir};

        if (find_pairs_row(l, &s, i))
            return true;
        strbuf_release(&s.train);
        strbuf_release(&s.val);
    }
    return false;
}

/* Adds sample i, before which its class had `before` samples: of VAL_EACH samples of a
 * class the first is for validation. */
static void add_image(struct lists *s, const struct dataset *d, int64_t i, int64_t before)
{
    struct strbuf name = STRBUF_INIT;
    int32_t label = dataset_label(d, i);
    char *full, number[16];

    (void)snprintf(number, sizeof(number), "%d", label);
    dataset_describe(d, i, &name);
    full = realpath(name.buf, NULL);
    if (full)
        add_line(s, before % VAL_EACH == 0, full,
                 s->numbers ? number : d->class_name[label]);
    free(full);
    strbuf_release(&name);
}

/* True if a list would read the name as a class index, or cut it. */
static bool is_no_list_name(const char *name)
{
    return !name[strspn(name, "0123456789")] || breaks_line(name) ||
           isspace((unsigned char)*name);
}

/* A line of classes.txt, which has no comments, control characters, or spaces around. */
static void add_class_line(struct strbuf *to, const char *name)
{
    if (strchr("# ", *name))
        strbuf_addch(to, '_');
    for (const char *c = name; *c; c++)
        strbuf_addch(to, (unsigned char)*c < ' ' || (*c == ' ' && !c[1]) ? '_' : *c);
    strbuf_addch(to, '\n');
}

/* If names cannot stand in a list, lists have indices into classes.txt. */
static void add_classes(struct lists *s, const struct dataset *d)
{
    for (int c = 0; c < d->nclass; c++)
        s->numbers = s->numbers || is_no_list_name(d->class_name[c]);
    for (int c = 0; s->numbers && c < d->nclass; c++)
        add_class_line(&s->classes, d->class_name[c]);
}

/* Is there one folder per class, without splits or below `split` alone? Lists them. */
static bool find_classes(struct init_layout *l, const char *dir, const char *split)
{
    struct lists s = {.dir = dir};
    struct dataset_source source = init_source(l, split, 0);
    const struct storage *folder = storage_find("folder");
    struct dataset *d;
    int64_t *seen;

    if (!folder->probe(&source))
        return false;
    if (!dir) {
        l->storage = folder;
        l->train = "";
        l->found = xstrdup("a folder for each class, and no splits");
        return true;
    }
    d = folder->open(&source);
    add_classes(&s, d);
    seen = xcalloc((size_t)d->nclass, sizeof(*seen));
    for (int64_t i = 0; i < d->n; i++)
        add_image(&s, d, i, seen[dataset_label(d, i)]++);
    for (int c = 0; c < d->nclass; c++)
        if (seen[c] == 1)
            usage("'%s' has one image of '%s': a class needs one for training and one "
                  "for validation",
                  l->path, d->class_name[c]);
    free(seen);
    dataset_close(d);
    free(l->found);
    l->val = NULL;
    use_lists(l, &s, false,
              xasprintf("a folder for each class and no splits: one image of %d is for "
                        "validation",
                        VAL_EACH));
    return true;
}

void init_layout(struct init_layout *l, const char *path, const char *lists)
{
    *l = (struct init_layout){.path = path};
    if (find_pairs(l, lists))
        return;
    if (find_splits(l)) {
        const char *split = l->train;

        if (!lists || (!l->val && l->storage == storage_find("folder") &&
                       find_classes(l, lists, split)))
            return;
        usage("--lists has no effect: '%s' has its lists or splits", path);
    }
    if (find_classes(l, lists, ""))
        return;
    usage("'%s' is no data set that trainc knows: `trainc help DATA.DATASET` lists the "
          "layouts, train/CLASS/IMAGE and val/CLASS/IMAGE for one",
          path);
}

void init_layout_release(struct init_layout *l)
{
    free(l->found);
    free(l->own_path);
}
