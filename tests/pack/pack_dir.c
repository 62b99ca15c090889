#include "tests/pack/pack_dir.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/make_folder.h"
#include "tests/test.h"

char *make_classes(void)
{
    char *dir = make_temp_dir();

    for (int i = 0; i < PACK_IMAGES; i++) {
        char *name = xasprintf("train/class%d/%02d.jpg", i % PACK_CLASSES, i);

        make_image(dir, name, 30 + i % 5 * 12, 26 + i % 4 * 14, i);
        free(name);
    }
    return dir;
}

char *make_label_maps(void)
{
    char *dir = make_temp_dir();
    struct strbuf list = STRBUF_INIT;

    for (int i = 0; i < PACK_IMAGES; i++) {
        int w = 30 + i % 5 * 12, h = 26 + i % 4 * 14;
        char *image = xasprintf("im/%02d.jpg", i), *label = xasprintf("lab/%02d.png", i);
        uint8_t *v = xmalloc((size_t)(w * h));

        for (int p = 0; p < w * h; p++)
            v[p] = (uint8_t)((p % w / 4 + p / w / 3 + i) % PACK_CLASSES);
        v[0] = 255;
        make_image(dir, image, w, h, i);
        make_label(dir, label, w, h, v);
        strbuf_addf(&list, "%s %s\n", image, label);
        free(v);
        free(image);
        free(label);
    }
    make_file(dir, "train.txt", list.buf, list.len);
    strbuf_release(&list);
    return dir;
}

struct dataset_source pack_source(const char *dir, bool label_maps)
{
    return (struct dataset_source){.path = dir,
                                   .keep = dir,
                                   .split = "train",
                                   .labels = {.classes = PACK_CLASSES},
                                   .label_maps = label_maps};
}

struct pack_result pack_to(const char *format, const struct dataset *d, const char *dir,
                           int64_t shard, const struct pack_encoding *how)
{
    struct strbuf classes = STRBUF_INIT;
    struct pack_options o = {
        .format = pack_find(format), .out = dir, .shard = shard, .threads = 2};

    if (how)
        o.encoding = *how;
    o.encoding.decode |= o.format->decodes;
    for (int c = 0; c < d->nclass && !dataset_has_labels(d); c++)
        strbuf_addf(&classes, "%s\n", d->class_name[c]);
    if (classes.len)
        make_file(dir, "classes.txt", classes.buf, classes.len);
    strbuf_release(&classes);
    return pack_split(&o, d, "train");
}
