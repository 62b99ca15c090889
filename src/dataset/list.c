/* List files of pictures and their label pictures; dataset.h says what they look like. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
#include "dataset/list_file.h"
#include "dataset/pairs.h"

/* Cuts "image label" in two; at the tab if there is one. */
static char *list_cut(const struct list_file *l, const struct line *at)
{
    const char *between = strchr(at->text, '\t') ? "\t" : " ";
    char *end = at->text + strcspn(at->text, between), *label = end + strspn(end, " \t");

    if (!*end || label[strcspn(label, between)])
        die("%s:%d: 'image label' is expected, not '%s'", l->path, at->number, at->text);
    while (end > at->text && strchr(" \t", end[-1]))
        end--;
    *end = '\0';
    return label;
}

static void list_one_file(struct pairs *p, const struct list_file *l)
{
    for (int i = 0; i < l->n; i++) {
        const char *label = list_cut(l, &l->line[i]);

        pairs_add(p, &(struct pair){l->line[i].text, label, l->line[i].number,
                                    l->line[i].number});
    }
    p->image_list = p->label_list = arena_strdup(&p->mem, path_basename(l->path));
}

static void list_two_files(struct pairs *p, const struct list_file *image,
                           const struct list_file *label)
{
    if (image->n != label->n)
        die("'%s' has %d names and '%s' has %d: a line of one belongs to the same line "
            "of the other",
            image->path, image->n, label->path, label->n);
    for (int i = 0; i < image->n; i++)
        pairs_add(p, &(struct pair){image->line[i].text, label->line[i].text,
                                    image->line[i].number, label->line[i].number});
    p->image_list = arena_strdup(&p->mem, path_basename(image->path));
    p->label_list = arena_strdup(&p->mem, path_basename(label->path));
}

/* The name that a picture and its label have in common; a heap string. */
static char *list_stem(const char *path)
{
    static const char *const ending[] = {
        "_leftImg8bit", "_gtFine", "_gtCoarse", "_labelIds", "_labelTrainIds",
        "_L",           "_labels", "_label",    "_masks",    "_mask",
        "_seg",         "_gt",     "_image",    "_img",      "_rgb"};
    const char *base = path_basename(path);
    char *s = xstrndup(base, strlen(base) - strlen(path_extension(base)));

    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        size_t n = strlen(s), e = strlen(ending[i]);

        if (n <= e || strcmp(s + n - e, ending[i]) != 0)
            continue;
        s[n - e] = '\0';
        i = (size_t)-1; /* from the first again: NAME_gtFine_labelIds */
    }
    return s;
}

/* Ends the program if a name says that its partner is on another line. */
static void list_check_names(const struct pairs *p)
{
    struct strmap labels = {0};
    int64_t same = 0;

    for (int64_t i = p->base.n - 1; i >= 0; i--) { /* of equal names the first stays */
        char *s = list_stem(p->pair[i].label);

        strmap_put(&labels, s, &p->pair[i]);
        free(s);
    }
    for (int64_t i = 0; i < p->base.n; i++) {
        const struct pair *at = &p->pair[i], *other;
        char *image = list_stem(at->image), *label = list_stem(at->label);
        bool equal = strcmp(image, label) == 0;

        other = equal ? NULL : strmap_get(&labels, image);
        if (other)
            die("%s/%s:%d: '%s' stands with '%s', and its label by name, '%s', on line "
                "%d: are the lines shifted?",
                p->root, p->label_list, at->label_line, at->label, at->image,
                other->label, other->label_line);
        same += equal;
        free(image);
        free(label);
    }
    if (same < p->base.n)
        log_info("'%s': %lld of %lld pairs have names that do not tell whether they "
                 "belong together",
                 p->base.name, (long long)(p->base.n - same), (long long)p->base.n);
    strmap_release(&labels);
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path) - strlen(path_extension(path)), e = strlen(ending);

    return n >= e && !strncmp(path + n - e, ending, e);
}

/* Cityscapes says in its names what a file holds. */
static void list_check_ids(const struct pairs *p, const struct label_options *o)
{
    const char *other = o->train_ids ? "_labelIds" : "_labelTrainIds";
    int64_t n = 0;

    for (int64_t i = 0; i < p->base.n; i++)
        n += ends_in(p->pair[i].label, other);
    if (n && o->set)
        log_warning(
            "'%s': the names of %lld label pictures end in %s, and DATA.LABELS is "
            "%s",
            p->base.name, (long long)n, other, o->train_ids ? "train_ids" : "ids");
}

struct dataset *list_open(const char *root, const char *split,
                          const struct label_options *o)
{
    char *one = xasprintf("%s.txt", split), *two[2], *name;
    struct list_file pair, image, label;
    bool both = list_file_read(&pair, root, one), images, labels;
    struct pairs *p;

    two[0] = xasprintf("%sImages.txt", split);
    two[1] = xasprintf("%sLabels.txt", split);
    images = list_file_read(&image, root, two[0]);
    labels = list_file_read(&label, root, two[1]);
    if (!both && !(images && labels))
        die("'%s' has no list: neither %s nor %s and %s", root, one, two[0], two[1]);
    if (both && (images || labels))
        die("'%s' has %s and %s: which is meant?", root, one, images ? two[0] : two[1]);
    name = both ? pair.path : image.path;
    p = pairs_new(root, name, o);
    if (both)
        list_one_file(p, &pair);
    else
        list_two_files(p, &image, &label);
    if (p->base.n == 0)
        die("'%s' names no pictures", name);
    pairs_check_files(p);
    list_check_names(p);
    list_check_ids(p, o);
    list_file_release(&pair);
    list_file_release(&image);
    list_file_release(&label);
    free(one);
    free(two[0]);
    free(two[1]);
    return &p->base;
}
