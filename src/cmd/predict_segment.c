/* trainc predict for segmentation: writes label maps in the images' sizes, and overlays. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/file_name.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "base/strmap.h"
#include "cmd/predict.h"
#include "io/written.h"
#include "train/paint.h"

#define LABELS_END  "_labels.png"
#define OVERLAY_END "_overlay.png"

/* Returns the label map resized to the image (nearest neighbor) in heap memory. */
static uint8_t *resize_labels(const struct predict *p, const float *logits, int w, int h)
{
    const struct tensor *z = p->infer.session.build[SESSION_EVAL].logits;
    const struct transform *t = &p->infer.transform;
    int zw = (int)z->dim[3], zh = (int)z->dim[2], rw, rh;
    uint8_t *small = xmalloc((size_t)zw * (size_t)zh);
    uint8_t *label = xmalloc((size_t)w * (size_t)h), *to = label;

    paint_argmax(logits, (int64_t)zw * zh, p->classes, small);
    transform_segment_fit(t, w, h, &rw, &rh);
    for (int y = 0; y < h; y++) {
        int sy = (int)((2 * (int64_t)y + 1) * rh / (2 * (int64_t)h)) - (rh - t->h) / 2;

        for (int x = 0; x < w; x++) {
            int sx =
                (int)((2 * (int64_t)x + 1) * rw / (2 * (int64_t)w)) - (rw - t->w) / 2;

            *to++ = small[sy / t->label_divisor * zw + sx / t->label_divisor];
        }
    }
    free(small);
    return label;
}

/* Returns the output path of an image: its path below the named folder, below --out. */
static char *out_path(const struct predict *p, const char *name, const char *end)
{
    int len = (int)(strlen(name) - strlen(path_extension(name)));
    char *stem = xasprintf("%.*s", len, name), *rest = stem, *part;
    struct strbuf path = STRBUF_INIT;

    strbuf_addstr(&path, p->out);
    while ((part = strsep(&rest, "/"))) {
        char *clean = file_name_clean(part);

        strbuf_addf(&path, "/%s", clean);
        free(clean);
    }
    strbuf_addstr(&path, end);
    free(stem);
    return strbuf_detach(&path);
}

static void write_labels(const struct predict *p, const char *path, uint8_t *label, int w,
                         int h)
{
    uint8_t palette[256 * 3];

    if (!p->server_ids) {
        paint_palette(p->set, palette);
        paint_write(path, label, w, h, palette);
        return;
    }
    for (int64_t i = 0; i < (int64_t)w * h; i++)
        label[i] = (uint8_t)class_set_value(p->set, label[i]);
    for (int i = 0; i < 256 * 3; i++)
        palette[i] = (uint8_t)(i / 3);
    paint_write(path, label, w, h, palette);
}

static void make_folder_of(const char *path)
{
    char *dir = path_dirname(path);

    if (dir_make_all(dir))
        die("cannot create the folder '%s': %s", dir, strerror(errno));
    free(dir);
}

/* Returns the pixels of a file as packed RGB in heap memory. */
static uint8_t *read_rgb(const struct predict *p, const char *path, int *w, int *h)
{
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

/* Prints the class shares of an image and adds them to --json. */
static void add_shares(struct predict *p, const char *path, const char *labels,
                       const char *overlay, const double *share)
{
    struct strbuf line = STRBUF_INIT;

    strbuf_addf(&line, "%s: %s, %s:", path, labels, overlay);
    for (int c = 0, said = 0; c < p->classes; c++)
        if (share[c] > 0)
            strbuf_addf(&line, "%s %s %.1f %%", said++ ? "," : "", p->name[c],
                        100 * share[c]);
    say("%s\n", line.buf);
    strbuf_release(&line);
    if (!p->json)
        return;
    json_begin_object(&p->writer, NULL);
    json_put_string(&p->writer, "image", path);
    json_put_string(&p->writer, "labels", labels);
    json_put_string(&p->writer, "overlay", overlay);
    json_begin_array(&p->writer, "shares");
    for (int c = 0; c < p->classes; c++)
        json_put_double(&p->writer, NULL, share[c]);
    json_end(&p->writer);
    json_end(&p->writer);
}

/* Writes the files of a w x h image, and its line. Overwrites `rgb` and `label`. */
static void write_image(struct predict *p, int64_t i, uint8_t *rgb, uint8_t *label, int w,
                        int h)
{
    const char *path = p->images.path[i], *name = p->images.name[i];
    char *labels = out_path(p, name, LABELS_END);
    char *overlay = out_path(p, name, OVERLAY_END);
    double share[256];
    int64_t n[256] = {0};

    for (int64_t k = 0; k < (int64_t)w * h; k++)
        n[label[k]]++;
    paint_overlay(p->set, rgb, label, (int64_t)w * h, rgb);
    make_folder_of(labels);
    paint_write(overlay, rgb, w, h, NULL);
    write_labels(p, labels, label, w, h);
    for (int c = 0; c < 256; c++)
        share[c] = (double)n[c] / (double)w / (double)h;
    add_shares(p, path, labels, overlay, share);
    free(labels);
    free(overlay);
}

void segment_image(struct predict *p, int64_t i, const float *logits)
{
    int w, h;
    uint8_t *rgb = read_rgb(p, p->images.path[i], &w, &h);
    uint8_t *label = resize_labels(p, logits, w, h);

    write_image(p, i, rgb, label, w, h);
    free(label);
    free(rgb);
}

void segment_write(struct predict *p, int64_t i, const struct window_answer *a)
{
    int w, h;
    uint8_t *rgb = read_rgb(p, p->images.path[i], &w, &h);
    uint8_t *copy = xmalloc((size_t)w * (size_t)h);

    if (w != a->w || h != a->h)
        die("'%s' changed while it was read", p->images.path[i]);
    memcpy(copy, a->label, (size_t)w * (size_t)h);
    write_image(p, i, rgb, copy, w, h);
    free(copy);
    free(rgb);
}

/* Refuses to overwrite input images and files that trainc did not write. */
static void check_overwrite(const struct predict *p, const char *path)
{
    const char *why = written_refuse(path, WRITTEN_IMAGE);

    for (int i = 0; i < p->images.n && !why; i++)
        if (file_same(path, p->images.path[i]))
            why = "it is one of the input images";
    if (why)
        usage("refusing to overwrite '%s': %s; choose another --out", path, why);
}

/* Refuses images with the same output path. */
static void check_names(const struct predict *p)
{
    struct strmap seen = {0};

    for (int i = 0; i < p->images.n; i++) {
        char *out = out_path(p, p->images.name[i], "");
        const char *before = strmap_get(&seen, out);

        if (before)
            usage("'%s' and '%s' would share the output '%s" LABELS_END
                  "'; predict them separately",
                  before, p->images.path[i], out);
        strmap_put(&seen, out, p->images.path[i]);
        free(out);
    }
    strmap_release(&seen);
}

void segment_check_outputs(const struct predict *p)
{
    static const char *const end[] = {LABELS_END, OVERLAY_END};

    check_names(p);
    for (int i = 0; i < p->images.n; i++)
        for (int k = 0; k < 2; k++) {
            char *path = out_path(p, p->images.name[i], end[k]);

            if (file_exists(path))
                check_overwrite(p, path);
            free(path);
        }
}
