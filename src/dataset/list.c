/* List files of pictures and their label pictures; dataset.h says what they look like. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
#include "dataset/pairs.h"

/* A list file cut into lines that count. */
struct lines {
    char *path, *text; /* of root/train.txt; text with NULs for line ends */
    struct line {
        char *text;
        int number;
    } * line;
    int n;
    size_t cap;
};

/* False: there is no such file. */
static bool lines_read(struct lines *l, const char *root, const char *name)
{
    size_t len;
    char *next;

    *l = (struct lines){.path = path_join(root, name)};
    l->text = file_read(l->path, &len);
    if (!l->text && errno == ENOENT)
        return false;
    if (!l->text)
        die("cannot read '%s': %s", l->path, strerror(errno));
    if (strlen(l->text) != len)
        die("'%s' is no text: it has a zero byte", l->path);
    next = l->text + (strncmp(l->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0);
    for (int number = 1; next; number++) {
        char *start = next + strspn(next, " \t"), *end = strchr(next, '\n');

        next = end ? end + 1 : NULL;
        end = end ? end : start + strlen(start);
        while (end > start && strchr(" \t\r\n", end[-1]))
            end--;
        if (end <= start || *start == '#')
            continue;
        *end = '\0';
        GROW(l->line, l->n, l->cap);
        l->line[l->n++] = (struct line){start, number};
    }
    return true;
}

static void lines_release(struct lines *l)
{
    free(l->path);
    free(l->text);
    free(l->line);
}

/* Cuts "image label" in two; at the tab if there is one. */
static char *list_cut(const struct lines *l, const struct line *at)
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

static void list_one_file(struct pairs *p, const struct lines *l)
{
    for (int i = 0; i < l->n; i++) {
        const char *label = list_cut(l, &l->line[i]);

        pairs_add(p, &(struct pair){l->line[i].text, label, l->line[i].number,
                                    l->line[i].number});
    }
    p->image_list = p->label_list = arena_strdup(&p->mem, path_basename(l->path));
}

static void list_two_files(struct pairs *p, const struct lines *image,
                           const struct lines *label)
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

static void list_check_files(const struct pairs *p)
{
    const char *missing = NULL, *list = NULL;
    int line = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < p->base.n; i++) {
        const struct pair *at = &p->pair[i];

        for (int side = 0; side < 2; side++) {
            const char *path = side ? at->label : at->image;

            if (faccessat(p->fd, path, R_OK, 0) == 0)
                continue;
            if (n++ == 0) {
                missing = path;
                list = side ? p->label_list : p->image_list;
                line = side ? at->label_line : at->line;
            }
        }
    }
    if (n)
        die("%s/%s:%d: there is no file '%s' below '%s' (%lld of %lld are missing)",
            p->root, list, line, missing, p->root, (long long)n,
            2 * (long long)p->base.n);
}

struct dataset *list_open(const char *root, const char *split,
                          const struct label_options *o)
{
    char *one = xasprintf("%s.txt", split), *two[2], *name;
    struct lines pair, image, label;
    bool both = lines_read(&pair, root, one), images, labels;
    struct pairs *p;

    two[0] = xasprintf("%sImages.txt", split);
    two[1] = xasprintf("%sLabels.txt", split);
    images = lines_read(&image, root, two[0]);
    labels = lines_read(&label, root, two[1]);
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
    list_check_files(p);
    list_check_names(p);
    lines_release(&pair);
    lines_release(&image);
    lines_release(&label);
    free(one);
    free(two[0]);
    free(two[1]);
    return &p->base;
}
