/* PASCAL VOC's folders; dataset.h says which files are whose. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "dataset/list_file.h"
#include "dataset/pairs.h"

struct dataset *voc_open(const char *root, const char *split,
                         const struct label_options *o)
{
    char *name = xasprintf("ImageSets/Segmentation/%s.txt", split);
    struct list_file list;
    struct pairs *p;

    if (!list_file_read(&list, root, name))
        die("there is no '%s/%s', which names the pictures of the split", root, name);
    p = pairs_new(root, list.path, o);
    for (int i = 0; i < list.n; i++) {
        const struct line *at = &list.line[i];

        if (strpbrk(at->text, " \t/"))
            die("%s:%d: a name such as 2007_000032 is expected, not '%s'", list.path,
                at->number, at->text);
        pairs_add(
            p, &(struct pair){arena_printf(&p->mem, "JPEGImages/%s.jpg", at->text),
                              arena_printf(&p->mem, "SegmentationClass/%s.png", at->text),
                              at->number, at->number});
    }
    if (list.n == 0)
        die("'%s' names no pictures", list.path);
    p->image_list = p->label_list = arena_strdup(&p->mem, name);
    pairs_check_files(p);
    list_file_release(&list);
    free(name);
    return &p->base;
}
