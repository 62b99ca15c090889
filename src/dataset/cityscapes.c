/*
 * DATA.DATASET cityscapes: leftImg8bit/SPLIT/CITY/NAME_leftImg8bit.png (or .jpg) and
 * gtFine/SPLIT/CITY/NAME_gtFine_labelIds.png, matched by CITY/NAME, in byte order. Ends
 * the program if an image has no label map, or a label map has no image.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strmap.h"
#include "dataset/pairs.h"
#include "dataset/usual_names.h"

struct side {
    char *dir;                     /* root/leftImg8bit/train */
    const char *folder;            /* "leftImg8bit" */
    const char *ending, *ending_2; /* "_leftImg8bit.png" */
};

/* Returns the length of the name without the ending, or 0 if it does not end so. */
static size_t stem(const char *name, const char *ending)
{
    size_t n = strlen(name), e = ending ? strlen(ending) : n;

    return n > e && strcmp(name + n - e, ending) == 0 ? n - e : 0;
}

/* Maps CITY/NAME of each file of a side to its path below the root, in byte order. */
static void list_side(const struct side *s, const char *split, struct pairs *p,
                      struct strmap *found)
{
    int ncity, n;
    char **city = dir_list(s->dir, &ncity);

    if (ncity < 0)
        die("folder '%s' not found: Cityscapes needs %s", s->dir, s->folder);
    for (int c = 0; c < ncity; c++) {
        char *path = path_join(s->dir, city[c]);
        char **name = dir_list(path, &n);

        for (int i = 0; i < n; i++) {
            size_t len = stem(name[i], s->ending);

            len = len ? len : stem(name[i], s->ending_2);
            if (len && !usual_is_system(name[i]))
                strmap_put(found,
                           arena_printf(&p->mem, "%s/%.*s", city[c], (int)len, name[i]),
                           arena_printf(&p->mem, "%s/%s/%s/%s", s->folder, split, city[c],
                                        name[i]));
        }
        dir_list_free(name, n);
        free(path);
    }
    dir_list_free(city, ncity);
}

/* Ends the program with the first few names of `a` that `b` lacks. */
static void check_partners(const struct strmap *a, const struct side *a_side,
                           const struct strmap *b, const struct side *b_side)
{
    struct strbuf names = STRBUF_INIT;
    int missing = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (strmap_has(b, a->entry[i].key))
            continue;
        if (missing++ < 3)
            strbuf_addf(&names, "%s'%s%s'", missing > 1 ? ", " : "", a->entry[i].key,
                        b_side->ending);
    }
    if (missing > 3)
        strbuf_addf(&names, " and %d more", missing - 3);
    if (missing)
        die("'%s': no files match these files in '%s': %s", b_side->dir, a_side->dir,
            names.buf);
    strbuf_release(&names);
}

static const char *const side_folder[] = {"leftImg8bit", "gtFine"};

static char *side_dir(const struct dataset_source *s, int side)
{
    return xasprintf("%s/%s/%s", s->path, side_folder[side], s->split);
}

static bool cityscapes_check(const struct dataset_source *s, struct strbuf *why)
{
    bool is = true;

    for (int side = 0; is && side < 2; side++) {
        char *dir = side_dir(s, side);

        is = file_is_dir(dir);
        if (!is)
            strbuf_addf(why, "there is no folder '%s'", dir);
        free(dir);
    }
    return is;
}

static bool cityscapes_probe(const struct dataset_source *s)
{
    struct strbuf unused = STRBUF_INIT;
    bool is = cityscapes_check(s, &unused);

    strbuf_release(&unused);
    return is;
}

static struct dataset *cityscapes_open(const struct dataset_source *s)
{
    struct pairs *p;
    struct side image = {.dir = side_dir(s, 0),
                         .folder = side_folder[0],
                         .ending = "_leftImg8bit.png",
                         .ending_2 = "_leftImg8bit.jpg"};
    struct side label = {.dir = side_dir(s, 1),
                         .folder = side_folder[1],
                         .ending = s->labels.train_ids ? "_gtFine_labelTrainIds.png"
                                                       : "_gtFine_labelIds.png"};
    struct strmap images = {0}, labels = {0};

    p = pairs_new(s, image.dir);
    list_side(&image, s->split, p, &images);
    list_side(&label, s->split, p, &labels);
    if (images.n == 0)
        die("no images found in '%s': expected CITY/NAME%s", image.dir, image.ending);
    check_partners(&images, &image, &labels, &label);
    check_partners(&labels, &label, &images, &image);
    for (size_t i = 0; i < images.n; i++) /* in insertion order, which is sorted */
        pairs_add(p, &(struct pair){.image = images.entry[i].value,
                                    .label = strmap_get(&labels, images.entry[i].key)});
    strmap_release(&images);
    strmap_release(&labels);
    free(image.dir);
    free(label.dir);
    return &p->base;
}

const struct storage storage_cityscapes = {
    .name = "cityscapes",
    .help = "label maps of Cityscapes: leftImg8bit/SPLIT/CITY/NAME_leftImg8bit.png and "
            "gtFine/SPLIT/CITY/NAME_gtFine_labelIds.png",
    .labels = STORAGE_LABEL_MAPS,
    .stand_in = "synth scenes --size 512",
    .reads = pairs_reads,
    .probe = cityscapes_probe,
    .check = cityscapes_check,
    .open = cityscapes_open,
};
