#include "train/val_images.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "image/encode.h"
#include "train/paint.h"

/* Converts the first three channels to RGB, or the first to gray if there are fewer. */
static void paint_pixels(const uint8_t *pixel, int channels, int64_t n, uint8_t *rgb)
{
    for (int64_t i = 0; i < n; i++, pixel += channels, rgb += 3)
        for (int c = 0; c < 3; c++)
            rgb[c] = pixel[channels < 3 ? 0 : c];
}

/* Returns RGB pixels, labels, and prediction side by side [h, 3 * w]; the caller frees
 * it. */
static uint8_t *triple(const struct class_set *set, const uint8_t *pixel, int channels,
                       const uint8_t *truth, const uint8_t *guess, int w, int h,
                       int scale)
{
    int64_t stride = (int64_t)9 * w;
    uint8_t *rgb = xmalloc((size_t)stride * (size_t)h);
    struct paint p = {.stride = stride, .w = w, .h = h, .scale = scale};

    for (int y = 0; y < h; y++)
        paint_pixels(pixel + (int64_t)channels * w * y, channels, w, rgb + y * stride);
    p.dst = rgb + 3 * w;
    paint_labels(&p, set, truth);
    p.dst = rgb + 6 * w;
    paint_labels(&p, set, guess);
    return rgb;
}

/* Writes an image; on failure, warns and returns false. */
static bool write_image(const struct val_images *p, int number, const uint8_t *rgb, int w,
                        int h)
{
    struct png_bitmap g = {.pixel = rgb, .w = w, .h = h, .channels = 3};
    char *path = xasprintf("%s/%s_%d.png", p->dir, p->prefix, number);
    char *tag = xasprintf("val/image_%d", number);
    size_t len;
    unsigned char *png = png_encode(&g, &len);
    bool written = !atomic_write_file(path, png, len);

    if (!written)
        log_warning("cannot write '%s': %s", path, strerror(errno));
    if (p->events)
        tensorboard_image(p->events, tag, p->step, w, h, png, len);
    free(png);
    free(path);
    free(tag);
    return written;
}

static int put_batch(const struct val_images *p, struct session *s, const struct feed *f,
                     const struct batch *b, int first)
{
    const struct tensor *x = s->build[SESSION_EVAL].pixels;
    const struct tensor *z = s->build[SESSION_EVAL].logits;
    int c = (int)x->dim[1], h = (int)x->dim[2], w = (int)x->dim[3],
        scale = w / (int)z->dim[3];
    int64_t size = z->dim[2] * z->dim[3], n = z->dim[0] * size;
    float *logits = xmalloc((size_t)tensor_len(z) * sizeof(*logits));
    uint8_t *guess = xmalloc((size_t)n);
    int written = 0;

    session_eval(s, b->pixel, b->label_map);
    session_logits(s, logits);
    paint_argmax(logits, n, (int)session_classes(s), guess);
    for (int i = 0; i < b->size && first + i < p->n; i++) {
        uint8_t *rgb;

        if (b->label[i] < 0)
            continue;
        rgb = triple(f->val->set, b->pixel + (int64_t)c * w * h * i, c,
                     b->label_map + size * i, guess + size * i, w, h, scale);
        written += write_image(p, first + i, rgb, 3 * w, h);
        free(rgb);
    }
    free(logits);
    free(guess);
    return written;
}

/* True for names such as PREFIX_0.png and PREFIX_17.png. */
static bool is_of(const char *name, const char *prefix)
{
    size_t len = strlen(prefix), digits;

    if (strncmp(name, prefix, len) != 0 || name[len] != '_')
        return false;
    digits = strspn(name + len + 1, "0123456789");
    return digits && !strcmp(name + len + 1 + digits, ".png");
}

static void drop(const char *dir, const char *name)
{
    char *path = path_join(dir, name);

    if (unlink(path))
        log_warning("cannot remove the old file '%s': %s", path, strerror(errno));
    free(path);
}

/* Deletes old images, which may be of other weights and more than are written now. */
static void make_way(const struct val_images *p)
{
    int n;
    char **name = dir_list(p->dir, &n);

    for (int i = 0; i < n; i++)
        if (is_of(name[i], p->prefix))
            drop(p->dir, name[i]);
    dir_list_free(name, n);
}

char *val_images_of_epoch(int64_t epoch)
{
    return xasprintf("epoch%03lld", (long long)epoch);
}

void val_images_drop(const char *dir, int64_t epoch)
{
    int n;
    char **name = dir_list(dir, &n);

    for (int i = 0; i < n; i++) {
        size_t len = strcspn(name[i], "0123456789");
        int64_t image_epoch = strtoll(name[i] + len, NULL, 10);
        char *prefix = val_images_of_epoch(image_epoch);

        if (image_epoch >= epoch && is_of(name[i], prefix))
            drop(dir, name[i]);
        free(prefix);
    }
    dir_list_free(name, n);
}

int val_images_write(const struct val_images *p, struct session *s, const struct feed *f)
{
    const struct batch *b;
    int written = 0;

    if (!p->n || s->plan.model->family->task != MODEL_SEGMENT)
        return 0;
    if (dir_make_all(p->dir)) {
        log_warning("no images: cannot make the folder '%s': %s", p->dir,
                    strerror(errno));
        return 0;
    }
    make_way(p);
    session_eval_begin(s, false);
    loader_start_epoch(f->val_loader, 0, 0);
    for (int first = 0; first < p->n && (b = loader_next(f->val_loader));) {
        written += put_batch(p, s, f, b, first);
        first += b->size;
        loader_release_batch(f->val_loader, b);
    }
    if (p->events)
        tensorboard_flush(p->events);
    return written;
}
