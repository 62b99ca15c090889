/* trainc predict for segmentation: writes label maps in the images' sizes, and overlays. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "cmd/predict.h"
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
    uint8_t *label = xmalloc((size_t)w * (size_t)h), *dst = label;

    paint_argmax(logits, (int64_t)zw * zh, p->classes, small);
    transform_segment_fit(t, w, h, &rw, &rh);
    for (int y = 0; y < h; y++) {
        int sy = (int)((2 * (int64_t)y + 1) * rh / (2 * (int64_t)h)) - (rh - t->h) / 2;

        for (int x = 0; x < w; x++) {
            int sx =
                (int)((2 * (int64_t)x + 1) * rw / (2 * (int64_t)w)) - (rw - t->w) / 2;

            *dst++ = small[sy / t->label_divisor * zw + sx / t->label_divisor];
        }
    }
    free(small);
    return label;
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
    char *labels = files_path(p->out, name, LABELS_END);
    char *overlay = files_path(p->out, name, OVERLAY_END);
    double share[256];
    int64_t n[256] = {0};

    for (int64_t k = 0; k < (int64_t)w * h; k++)
        n[label[k]]++;
    paint_overlay(p->set, rgb, label, (int64_t)w * h, rgb);
    files_make_folder(labels);
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
    uint8_t *rgb = files_read_rgb(p, i, &w, &h);
    uint8_t *label = resize_labels(p, logits, w, h);

    write_image(p, i, rgb, label, w, h);
    free(label);
    free(rgb);
}

void segment_write(struct predict *p, int64_t i, const struct window_answer *a)
{
    int w, h;
    uint8_t *rgb = files_read_rgb(p, i, &w, &h);
    uint8_t *copy = xmalloc((size_t)w * (size_t)h);

    if (w != a->w || h != a->h)
        die("'%s' changed while it was read", p->images.path[i]);
    memcpy(copy, a->label, (size_t)w * (size_t)h);
    write_image(p, i, rgb, copy, w, h);
    free(copy);
    free(rgb);
}

void segment_check_outputs(const struct predict *p)
{
    files_check(p, "--out", p->out, LABELS_END);
    files_check(p, "--out", p->out, OVERLAY_END);
}
