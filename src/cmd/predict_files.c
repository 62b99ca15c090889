/* The files that `trainc predict` writes next to each other: one or more PNG per image. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "cmd/predict.h"
#include "io/written.h"

char *files_path(const char *dir, const char *name, const char *end)
{
    int len = (int)(strlen(name) - strlen(path_extension(name)));
    char *stem = xasprintf("%.*s", len, name), *rest = stem, *part;
    struct strbuf path = STRBUF_INIT;

    strbuf_addstr(&path, dir);
    while ((part = strsep(&rest, "/"))) {
        char *clean = file_name_clean(part);

        strbuf_addf(&path, "/%s", clean);
        free(clean);
    }
    strbuf_addstr(&path, end);
    free(stem);
    return strbuf_detach(&path);
}

void files_make_folder(const char *path)
{
    char *dir = path_dirname(path);

    if (dir_make_all(dir))
        die("cannot create the folder '%s': %s", dir, strerror(errno));
    free(dir);
}

uint8_t *files_read_rgb(const struct predict *p, int64_t i, int *w, int *h)
{
    const char *path = p->images.path[i];
    struct image_decoder *d = image_decoder_new(&p->infer.limits);
    struct strbuf why = STRBUF_INIT;
    struct image img = {0};
    size_t len = 0;
    char *data = file_read(path, &len);
    uint8_t *rgb;

    if (!data)
        die("cannot read '%s': %s", path, file_strerror(errno));
    if (image_decoder_open(d, data, len, w, h, &why) ||
        image_decoder_read(d, NULL, &img, &why))
        die("'%s': %s", path, why.buf);
    rgb = xmalloc((size_t)*w * (size_t)*h * 3);
    for (int y = 0; y < *h; y++)
        memcpy(rgb + (int64_t)3 * *w * y, img.pixel + (size_t)y * img.stride,
               (size_t)3 * (size_t)*w);
    image_release(&img);
    image_decoder_free(d);
    free(data);
    return rgb;
}

/* Refuses to overwrite input images and files that trainc did not write. */
static void check_overwrite(const struct predict *p, const char *flag, const char *path)
{
    const char *why = written_refuse(path, WRITTEN_IMAGE);

    for (int i = 0; i < p->images.n && !why; i++)
        if (file_same(path, p->images.path[i]))
            why = "it is one of the input images";
    if (why)
        usage("refusing to overwrite '%s': %s; choose another %s", path, why, flag);
}

/* Refuses images with the same output path. */
static void check_names(const struct predict *p, const char *dir, const char *end)
{
    struct strmap seen = {0};

    for (int i = 0; i < p->images.n; i++) {
        char *out = files_path(dir, p->images.name[i], end);
        const char *before = strmap_get(&seen, out);

        if (before)
            usage("'%s' and '%s' would share the output '%s'; predict them separately",
                  before, p->images.path[i], out);
        strmap_put(&seen, out, p->images.path[i]);
        free(out);
    }
    strmap_release(&seen);
}

void files_check(const struct predict *p, const char *flag, const char *dir,
                 const char *end)
{
    check_names(p, dir, end);
    for (int i = 0; i < p->images.n; i++) {
        char *path = files_path(dir, p->images.name[i], end);

        if (file_exists(path))
            check_overwrite(p, flag, path);
        free(path);
    }
}
