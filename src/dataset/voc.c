/*
 * DATA.DATASET voc, PASCAL VOC: ImageSets/Segmentation/SPLIT.txt has one NAME per line,
 * for JPEGImages/NAME.jpg and SegmentationClass/NAME.png. All files must exist.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "dataset/list_file.h"
#include "dataset/pairs.h"

static char *voc_list(const struct dataset_source *s)
{
    return xasprintf("ImageSets/Segmentation/%s.txt", s->split);
}

static bool voc_probe(const struct dataset_source *s)
{
    char *name = voc_list(s), *path = path_join(s->path, name);
    bool is = file_exists(path) && !file_is_dir(path);

    free(name);
    free(path);
    return is;
}

static bool voc_check(const struct dataset_source *s, struct strbuf *why)
{
    char *name = voc_list(s);
    bool is = voc_probe(s);

    if (!is)
        strbuf_addf(why, "file '%s/%s', the list of the split's images, not found",
                    s->path, name);
    free(name);
    return is;
}

static struct dataset *voc_open(const struct dataset_source *s)
{
    char *name = voc_list(s);
    struct strbuf why = STRBUF_INIT;
    struct list_file list;
    struct pairs *p;

    if (!voc_check(s, &why))
        die("%s", why.buf);
    if (!list_file_read(&list, s->path, name))
        die("'%s/%s' has been deleted", s->path, name);
    p = pairs_new(s, list.path);
    for (int i = 0; i < list.n; i++) {
        const struct line *line = &list.line[i];

        if (strpbrk(line->text, " \t/"))
            die("%s:%d: expected a name such as 2007_000032, not '%s'", list.path,
                line->number, line->text);
        pairs_add(p, &(struct pair){
                         arena_printf(&p->mem, "JPEGImages/%s.jpg", line->text),
                         arena_printf(&p->mem, "SegmentationClass/%s.png", line->text),
                         line->number, line->number});
    }
    if (list.n == 0)
        die("'%s' names no images", list.path);
    p->image_list = p->label_list = arena_strdup(&p->mem, name);
    pairs_check_files(p);
    list_file_release(&list);
    free(name);
    return &p->base;
}

const struct storage storage_voc = {
    .name = "voc",
    .help = "label maps of PASCAL VOC: ImageSets/Segmentation/SPLIT.txt names "
            "JPEGImages/NAME.jpg and SegmentationClass/NAME.png",
    .labels = STORAGE_LABEL_MAPS,
    .reads = pairs_reads,
    .probe = voc_probe,
    .check = voc_check,
    .open = voc_open,
};
