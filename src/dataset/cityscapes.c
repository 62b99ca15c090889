/* Cityscapes' folders; dataset.h says which files are whose. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strmap.h"
#include "dataset/pairs.h"

struct side {
    char *dir;                     /* root/leftImg8bit/train */
    const char *folder;            /* "leftImg8bit" */
    const char *ending, *ending_2; /* "_leftImg8bit.png" */
};

/* The length of the name without its ending; 0: it has another one. */
static size_t stem(const char *name, const char *ending)
{
    size_t n = strlen(name), e = ending ? strlen(ending) : n;

    return n > e && strcmp(name + n - e, ending) == 0 ? n - e : 0;
}

/* CITY/NAME of each file of the side -> its path below the root, in byte order. */
static void list_side(const struct side *s, const char *split, struct pairs *p,
                      struct strmap *found)
{
    int ncity, n;
    char **city = dir_list(s->dir, &ncity);

    if (ncity < 0)
        die("there is no folder '%s': Cityscapes' %s is needed", s->dir, s->folder);
    for (int c = 0; c < ncity; c++) {
        char *path = path_join(s->dir, city[c]);
        char **name = dir_list(path, &n);

        for (int i = 0; i < n; i++) {
            size_t len = stem(name[i], s->ending);

            len = len ? len : stem(name[i], s->ending_2);
            if (len && name[i][0] != '.')
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

/* Ends the program with the first names of `a` that `b` lacks. */
static void check_partners(const struct strmap *a, const struct side *as,
                           const struct strmap *b, const struct side *bs)
{
    struct strbuf names = STRBUF_INIT;
    int missing = 0;

    for (size_t i = 0; i < a->n; i++) {
        if (strmap_has(b, a->entry[i].key))
            continue;
        if (missing++ < 3)
            strbuf_addf(&names, "%s'%s%s'", missing > 1 ? ", " : "", a->entry[i].key,
                        bs->ending);
    }
    if (missing > 3)
        strbuf_addf(&names, " and %d more", missing - 3);
    if (missing)
        die("'%s': partners of files in '%s' are missing: %s", bs->dir, as->dir,
            names.buf);
    strbuf_release(&names);
}

struct dataset *cityscapes_open(const char *root, const char *split,
                                const struct label_options *o)
{
    struct pairs *p;
    struct side image = {.folder = "leftImg8bit",
                         .ending = "_leftImg8bit.png",
                         .ending_2 = "_leftImg8bit.jpg"};
    struct side label = {.folder = "gtFine",
                         .ending = o->train_ids ? "_gtFine_labelTrainIds.png"
                                                : "_gtFine_labelIds.png"};
    struct strmap images = {0}, labels = {0};

    image.dir = xasprintf("%s/%s/%s", root, image.folder, split);
    label.dir = xasprintf("%s/%s/%s", root, label.folder, split);
    p = pairs_new(root, image.dir, o);
    list_side(&image, split, p, &images);
    list_side(&label, split, p, &labels);
    if (images.n == 0)
        die("'%s' has no pictures: they are expected as CITY/NAME%s", image.dir,
            image.ending);
    check_partners(&images, &image, &labels, &label);
    check_partners(&labels, &label, &images, &image);
    for (size_t i = 0; i < images.n; i++) /* in the order in which they were put */
        pairs_add(p, &(struct pair){.image = images.entry[i].value,
                                    .label = strmap_get(&labels, images.entry[i].key)});
    strmap_release(&images);
    strmap_release(&labels);
    free(image.dir);
    free(label.dir);
    return &p->base;
}
