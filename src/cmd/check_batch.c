#include "cmd/check_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/say.h"
#include "train/data_config.h"
#include "train/paint.h"
#include "train/segment_config.h"

enum {
    MIN_SHOWN = 16,       /* images, if there are as many, also of a smaller batch */
    SHOWN = 64,           /* images at most */
    SHEET = 64 * 1000000, /* pixels at most, but at least one image */
    MIN_SIDE = 128,       /* smaller images are enlarged to about this width */
    GAP = 2,              /* white pixels between tiles */
    CLASSES = 4           /* of a label map that are printed, the largest */
};

struct sheet {
    uint8_t *pixel;
    int w, h, columns, rows;
    int scale;          /* of the images, a whole number */
    int tile_w, tile_h; /* with the label map, without the gap */
};

static int scale_of(const struct transform *t)
{
    int scale = MIN_SIDE / t->w;

    return scale < 1 ? 1 : scale;
}

/* Makes a white sheet for n images. */
static struct sheet sheet_new(const struct transform *t, int n)
{
    struct sheet s = {.scale = scale_of(t)};

    s.tile_w = s.scale * t->w * (t->label_divisor ? 2 : 1);
    s.tile_h = s.scale * t->h;
    s.columns = (int)ceil(sqrt((double)n * s.tile_h / s.tile_w));
    s.columns = s.columns < 1 ? 1 : s.columns > n ? n : s.columns;
    s.rows = (n + s.columns - 1) / s.columns;
    s.w = s.columns * (s.tile_w + GAP) - GAP;
    s.h = s.rows * (s.tile_h + GAP) - GAP;
    s.pixel = xcalloc((size_t)s.w * (size_t)s.h, 3);
    memset(s.pixel, 255, (size_t)s.w * (size_t)s.h * 3);
    return s;
}

/* Returns the number of images of the batch that are shown. */
static int shown(const struct transform *t, int64_t batch)
{
    int64_t scale = scale_of(t), tile = scale * scale * t->w * t->h;
    int64_t max = SHEET / (tile * (t->label_divisor ? 2 : 1));

    max = max < 1 ? 1 : max > SHOWN ? SHOWN : max;
    batch = batch < MIN_SHOWN ? MIN_SHOWN : batch;
    return (int)(batch < max ? batch : max);
}

/* Draws an image; of more than three channels the first three, of two the first. */
static void draw_image(const struct sheet *s, const struct transform *t,
                       const uint8_t *src, uint8_t *dst)
{
    int n = transform_channels(t);

    for (int y = 0; y < s->tile_h; y++, dst += 3 * (ptrdiff_t)s->w)
        for (int x = 0; x < t->w * s->scale; x++) {
            const uint8_t *p =
                src + ((ptrdiff_t)(y / s->scale) * t->w + x / s->scale) * n;

            for (int c = 0; c < 3; c++)
                dst[3 * x + c] = p[n < 3 ? 0 : c];
        }
}

static void draw(const struct sheet *s, const struct transform *t,
                 const struct dataset *d, const struct batch *b, int i)
{
    size_t pixels = (size_t)t->w * (size_t)t->h;
    ptrdiff_t x = i % s->columns * (s->tile_w + GAP);
    ptrdiff_t y = i / s->columns * (s->tile_h + GAP);
    uint8_t *dst = s->pixel + (y * s->w + x) * 3;
    struct paint paint = {.dst = dst + 3 * (ptrdiff_t)t->w * s->scale,
                          .stride = 3 * (int64_t)s->w,
                          .w = t->w * s->scale,
                          .h = t->h * s->scale,
                          .scale = s->scale};

    draw_image(s, t, b->pixel + (size_t)i * transform_size(t), dst);
    if (b->label_map)
        paint_labels(&paint, d->set, b->label_map + (size_t)i * pixels);
}

/* ---- what is printed --------------------------------------------------------------- */

/* Appends the largest classes of a label map with their shares. */
static void add_classes(struct strbuf *s, const struct dataset *d, const uint8_t *label,
                        size_t n)
{
    int64_t count[256] = {0};

    for (size_t i = 0; i < n; i++)
        count[label[i]]++;
    for (int k = 0; k < CLASSES; k++) {
        int largest = 0;

        for (int v = 1; v < 256; v++)
            largest = count[v] > count[largest] ? v : largest;
        if (!count[largest])
            break;
        strbuf_addf(s, "%s%s %.0f %%", k ? ", " : "",
                    largest < d->nclass ? d->class_name[largest] : "ignored",
                    100.0 * (double)count[largest] / (double)n);
        count[largest] = 0;
    }
}

/* Appends the targets of a sample. */
static void add_values(struct strbuf *s, const struct dataset *d, int64_t sample)
{
    float *y = xcalloc((size_t)d->nclass, sizeof(*y));

    dataset_targets(d, sample, y);
    for (int k = 0; k < d->nclass; k++)
        strbuf_addf(s, "%s%s %g", k ? ", " : "", d->class_name[k], (double)y[k]);
    free(y);
}

static void say_image(const struct sheet *s, const struct transform *t,
                      const struct dataset *d, const struct batch *b, int i)
{
    size_t pixels = (size_t)t->w * (size_t)t->h;
    struct strbuf name = STRBUF_INIT, classes = STRBUF_INIT;

    dataset_describe(d, b->sample[i], &name);
    if (b->label[i] < 0)
        strbuf_addstr(&classes, "damaged");
    else if (b->label_map)
        add_classes(&classes, d, b->label_map + (size_t)i * pixels, pixels);
    else if (d->values)
        add_values(&classes, d, b->sample[i]);
    else
        strbuf_addstr(&classes, d->class_name[b->label[i]]);
    say("row %d, column %d: %s (%s)\n", i / s->columns + 1, i % s->columns + 1,
        classes.buf, name.buf);
    strbuf_release(&name);
    strbuf_release(&classes);
}

/* The loader makes whole samples: what the device would do is left to it. */
static struct loader_options options(struct config *cfg)
{
    struct loader_options o;

    config_set(cfg, "AUG.ON_DEVICE", "False");
    config_set(cfg, "DATA.RESIZE", "host");
    data_loader_options(cfg, DATA_TRAIN, &o);
    o.transform.label_divisor = o.transform.label_divisor || segment_config(cfg);
    o.batch = shown(&o.transform, o.batch);
    o.prefetch = 1;
    o.drop_last = false;
    o.cache_bytes = 0;
    return o;
}

void check_show_batch(struct config *cfg, const char *path)
{
    struct loader_options o = options(cfg);
    struct dataset *d = data_open(cfg, DATA_TRAIN);
    struct loader *l = loader_open(d, &o);
    const struct batch *b;
    struct sheet s;
    int n = 0;

    loader_start_epoch(l, 0, 0);
    b = loader_next(l);
    if (!b)
        die("%s", loader_failure(l) ? loader_failure(l) : "there are no training images");
    while (n < b->size && b->sample[n] >= 0)
        n++;
    s = sheet_new(&o.transform, n);
    for (int i = 0; i < n; i++) {
        draw(&s, &o.transform, d, b, i);
        say_image(&s, &o.transform, d, b, i);
    }
    paint_write(path, s.pixel, s.w, s.h, NULL);
    say("wrote %s: the first %d training images, %d x %d pixels each (rows: %d, columns: "
        "%d)%s\n",
        path, n, o.transform.w, o.transform.h, s.rows, s.columns,
        cfg->aug.mixup > 0 || cfg->aug.cutmix > 0 || cfg->aug.cutmix_minmax.item
            ? ", before mixup and CutMix"
            : "");
    free(s.pixel);
    loader_release_batch(l, b);
    loader_close(l);
    dataset_close(d);
}
