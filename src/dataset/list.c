/*
 * DATA.DATASET list, with classes (list_classes.h) or label maps: SPLIT.txt with "image
 * label" on each line or, without it, SPLITImages.txt and SPLITLabels.txt with one name
 * per line. Names are absolute paths or relative to the root; a name with spaces requires
 * a tab between image and label. Empty lines and lines that start with # are skipped.
 *
 * All files must exist. Names are compared without folder, extension, and usual suffix
 * (_leftImg8bit, _gtFine_labelIds, _L, _mask, ...). If an image's label map is on another
 * line, the lists are shifted, and the program ends with both line numbers.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strmap.h"
#include "dataset/list_classes.h"
#include "dataset/list_file.h"
#include "dataset/pairs.h"
#include "dataset/usual_names.h"
#include "image/image.h"

/* Splits "image label" at the tab or, without one, at the space; returns the label. */
static char *list_cut(const struct list_file *l, const struct line *line)
{
    const char *separator = strchr(line->text, '\t') ? "\t" : " ";
    char *end = line->text + strcspn(line->text, separator),
         *label = end + strspn(end, " \t");

    if (!*end || label[strcspn(label, separator)])
        list_file_refuse(l->path, line, "image label");
    while (end > line->text && strchr(" \t", end[-1]))
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
        die("'%s' has %d names, but '%s' has %d: lines must correspond one to one",
            image->path, image->n, label->path, label->n);
    for (int i = 0; i < image->n; i++)
        pairs_add(p, &(struct pair){image->line[i].text, label->line[i].text,
                                    image->line[i].number, label->line[i].number});
    p->image_list = arena_strdup(&p->mem, path_basename(image->path));
    p->label_list = arena_strdup(&p->mem, path_basename(label->path));
}

/* Ends the program if, by its name, an image's label map is on another line. */
static void list_check_names(const struct pairs *p)
{
    struct strmap labels = {0};
    int64_t same = 0;

    for (int64_t i = p->base.n - 1; i >= 0; i--) { /* of equal names, the first wins */
        char *s = usual_stem(p->pair[i].label, NULL);

        strmap_put(&labels, s, &p->pair[i]);
        free(s);
    }
    for (int64_t i = 0; i < p->base.n; i++) {
        const struct pair *pair = &p->pair[i], *other;
        char *image = usual_stem(pair->image, NULL),
             *label = usual_stem(pair->label, NULL);
        bool equal = strcmp(image, label) == 0;

        other = equal ? NULL : strmap_get(&labels, image);
        if (other)
            die("%s/%s:%d: '%s' is paired with '%s', but its label map by name, '%s', is "
                "on line %d: the lines may be shifted",
                p->root, p->label_list, pair->label_line, pair->label, pair->image,
                other->label, other->label_line);
        same += equal;
        free(image);
        free(label);
    }
    if (same < p->base.n)
        log_info("'%s': cannot verify %lld of %lld pairs by their names", p->base.name,
                 (long long)(p->base.n - same), (long long)p->base.n);
    strmap_release(&labels);
}

static bool ends_in(const char *path, const char *ending)
{
    size_t n = strlen(path) - strlen(path_extension(path)), e = strlen(ending);

    return n >= e && !strncmp(path + n - e, ending, e);
}

/* Warns if DATA.LABELS contradicts Cityscapes' file names, which say what values they
 * hold. */
static void list_check_ids(const struct pairs *p, const struct label_options *o)
{
    const char *other = o->train_ids ? "_labelIds" : "_labelTrainIds";
    int64_t n = 0;

    for (int64_t i = 0; i < p->base.n; i++)
        n += ends_in(p->pair[i].label, other);
    if (n && o->set)
        log_warning("'%s': the names of %lld label maps end in %s, and DATA.LABELS is "
                    "%s",
                    p->base.name, (long long)n, other,
                    o->train_ids ? "train_ids" : "ids");
}

/* List files of a split: one with "image label", or one each. */
enum { LIST_PAIRS, LIST_IMAGES, LIST_LABELS, LISTS };

static const char *const list_ending[LISTS] = {".txt", "Images.txt", "Labels.txt"};

static char *list_name(const struct dataset_source *s, int index)
{
    return xasprintf("%s%s", s->split, list_ending[index]);
}

static bool list_has(const struct dataset_source *s, int index)
{
    char *name = list_name(s, index), *path = path_join(s->path, name);
    bool has = file_exists(path) && !file_is_dir(path);

    free(name);
    free(path);
    return has;
}

static bool list_check(const struct dataset_source *s, struct strbuf *why)
{
    if (!s->label_maps)
        return list_classes_check(s, why);
    if (list_has(s, LIST_PAIRS) || (list_has(s, LIST_IMAGES) && list_has(s, LIST_LABELS)))
        return true;
    strbuf_addf(why, "no list in '%s': expected %s%s, or %s%s and %s%s", s->path,
                s->split, list_ending[0], s->split, list_ending[1], s->split,
                list_ending[2]);
    return false;
}

/* True if the first line with data has the names of two images. */
static bool list_has_pairs(const struct dataset_source *s)
{
    char *name = list_name(s, LIST_PAIRS), *path = path_join(s->path, name);
    char line[4096] = "", *end;
    FILE *f = file_open(path);
    bool has;

    while (f && fgets(line, sizeof(line), f) && (*line == '#' || *line == '\n'))
        *line = '\0';
    if (f)
        fclose(f);
    free(name);
    free(path);
    line[strcspn(line, "\r\n")] = '\0';
    end = line + strcspn(line, strchr(line, '\t') ? "\t" : " ");
    has = *end && image_has_extension(end);
    *end = '\0';
    return has && image_has_extension(line);
}

static bool list_has_label_maps(const struct dataset_source *s)
{
    return (list_has(s, LIST_PAIRS) && list_has_pairs(s)) ||
           (list_has(s, LIST_IMAGES) && list_has(s, LIST_LABELS));
}

static bool list_probe(const struct dataset_source *s)
{
    if (list_classes_probe(s))
        return true;
    if (list_has(s, LIST_PAIRS))
        return list_has_pairs(s);
    return list_has(s, LIST_IMAGES) && list_has(s, LIST_LABELS);
}

static struct dataset *list_open_pairs(const struct dataset_source *s)
{
    struct strbuf why = STRBUF_INIT;
    struct list_file file[LISTS];
    bool is[LISTS], both;
    struct pairs *p;

    if (!list_check(s, &why))
        die("%s", why.buf);
    for (int i = 0; i < LISTS; i++) {
        char *name = list_name(s, i);

        is[i] = list_file_read(&file[i], s->path, name);
        free(name);
    }
    both = is[LIST_PAIRS];
    if (both && (is[LIST_IMAGES] || is[LIST_LABELS]))
        die("'%s' has both %s%s and %s%s: remove one of them", s->path, s->split,
            list_ending[0], s->split,
            list_ending[is[LIST_IMAGES] ? LIST_IMAGES : LIST_LABELS]);
    p = pairs_new(s, file[both ? LIST_PAIRS : LIST_IMAGES].path);
    if (both)
        list_one_file(p, &file[LIST_PAIRS]);
    else
        list_two_files(p, &file[LIST_IMAGES], &file[LIST_LABELS]);
    if (p->base.n == 0)
        die("'%s' names no images", p->base.name);
    pairs_check_files(p);
    pairs_check_lossy(p);
    list_check_names(p);
    list_check_ids(p, &s->labels);
    for (int i = 0; i < LISTS; i++)
        list_file_release(&file[i]);
    return &p->base;
}

static struct dataset *list_open(const struct dataset_source *s)
{
    return s->label_maps ? list_open_pairs(s) : list_classes_open(s);
}

static const char *const list_reads[] = {
    "DATA.LABEL_MAP",      "DATA.REDUCE_ZERO_LABEL", "DATA.CLASS_COLORS",
    "DATA.IGNORED_COLORS", "DATA.CLASS_SET",         "DATA.CLASS_NAMES",
    "DATA.LABELS",         "DATA.FIRST_CLASS",       NULL};

const struct storage storage_list = {
    .name = "list",
    .alias = {"imagenet22K"}, /* Swin's name */
    .help = "SPLIT.txt with 'IMAGE CLASS' on each line, or ImageNet-22K's maps in JSON; "
            "label maps: 'IMAGE LABEL', or SPLITImages.txt and SPLITLabels.txt with a "
            "name on each",
    .labels = STORAGE_EITHER,
    .reads = list_reads,
    .probe = list_probe,
    .has_label_maps = list_has_label_maps,
    .check = list_check,
    .open = list_open,
};
