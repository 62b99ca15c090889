#include "train/windows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "image/transformer.h"
#include "session/model_config.h"
#include "train/segment_config.h"
#include "train/views.h"

enum { SCALES_MAX = 16 };

/* The mean probabilities of an image at a scale, a cell per output of the network. */
struct canvas {
    int image_w, image_h; /* size of the scaled image in pixels */
    int w, h;             /* in cells */
    float *sum;           /* [h, w, classes]: of weighted probabilities */
    float *weight;        /* [h, w] */
    size_t cap;           /* cells for which there is memory */
};

/* A window in the batch. */
struct place {
    int x, y; /* of its first pixel in the scaled image; negative with padding */
    struct view view;
};

struct windows {
    const struct config *cfg;
    struct session *session;
    struct transformer transformer;
    struct transform fit; /* of validation */
    struct view view[VIEWS_MAX];
    int nviews, classes;
    int cells_x, cells_y; /* outputs of a window */
    float *window_weight; /* [cells_y, cells_x] */

    uint8_t *scaled; /* the scaled image: [h, w, channels] */
    size_t scaled_cap;
    uint8_t *pixels; /* the batch: [batch, h, w, channels] */
    struct place *place;
    int waiting; /* windows in the batch */
    float *logits;
    void *ignored; /* labels of the batch */

    struct canvas canvas[SCALES_MAX];
    uint8_t *label;
    size_t label_cap;
};

bool windows_wanted(const struct config *cfg)
{
    return segment_config(cfg) && (cfg->test.scales.n || *cfg->test.tta);
}

void windows_check(const struct config *cfg, struct problems *p)
{
    if (cfg->test.scales.n && !segment_config(cfg))
        problems_error(p, "TEST.SCALES", "is for segmentation, but %s is a classifier",
                       cfg->model.name);
    if (cfg->test.scales.n > SCALES_MAX)
        problems_error(p, "TEST.SCALES", "has %d scales; the most is %d",
                       (int)cfg->test.scales.n, SCALES_MAX);
}

int windows_batch(const struct config *cfg)
{
    struct view view[VIEWS_MAX];
    int n = views_of_config(cfg, view), several = 1;

    for (int i = 0; i < cfg->test.scales.n; i++)
        if (cfg->test.scales.item[i] > 1 || !(cfg->test.scales.item[i] > 0))
            several = 2;
    return cfg->data.val_batch_size ? (int)cfg->data.val_batch_size : n * several;
}

struct window_axis window_axis(int size, int window, double overlap, int grid)
{
    double step = floor(window * (1 - overlap) / grid) * grid;
    struct window_axis a = {size, window, grid, 1};

    if (size > window)
        a.n = (int)ceil((size - window) / (step < grid ? grid : step)) + 1;
    return a;
}

int window_place(const struct window_axis *a, int i)
{
    int spare = a->size - a->window;

    if (a->n == 1)
        return spare < 0 ? -(-spare / 2 / a->grid * a->grid)
                         : (spare + a->grid - 1) / a->grid * a->grid;
    return (int)ceil((double)i * spare / (a->n - 1) / a->grid) * a->grid;
}

/* Weights of the cells of a window. */
static void fill_weights(struct windows *w, bool gaussian)
{
    for (int y = 0; y < w->cells_y; y++)
        for (int x = 0; x < w->cells_x; x++) {
            double dx = (x + 0.5 - w->cells_x / 2.0) / (w->cells_x / 8.0);
            double dy = (y + 0.5 - w->cells_y / 2.0) / (w->cells_y / 8.0);
            double g = exp(-(dx * dx + dy * dy) / 2);

            w->window_weight[y * w->cells_x + x] = gaussian ? (float)fmax(g, 1e-4) : 1;
        }
}

/* "whole images in windows of 480x360 at scales 1, 1.5; 2 views of each" */
static void log_windows(const struct windows *w)
{
    const struct config_test *t = &w->cfg->test;
    struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < t->scales.n; i++)
        strbuf_addf(&text, "%s%g", i ? ", " : " at scales ", t->scales.item[i]);
    if (w->nviews > 1)
        strbuf_addf(&text, "; %d views of each", w->nviews);
    log_info("whole images in windows of %dx%d%s", w->fit.w, w->fit.h, text.buf);
    strbuf_release(&text);
}

struct windows *windows_open(const struct config *cfg, struct session *s,
                             const struct image_limits *limits)
{
    const struct build *b = &s->build[SESSION_EVAL];
    struct windows *w = xcalloc(1, sizeof(*w));
    size_t batch = (size_t)s->plan.val_batch;

    w->cfg = cfg;
    w->session = s;
    w->fit = segment_transform(cfg, false);
    w->fit.shrink_gap = 0;
    w->nviews = views_of_config(cfg, w->view);
    w->classes = (int)session_classes(s);
    w->cells_x = w->fit.w / w->fit.label_divisor;
    w->cells_y = w->fit.h / w->fit.label_divisor;
    w->window_weight = xcalloc((size_t)w->cells_x * (size_t)w->cells_y, sizeof(float));
    fill_weights(w, cfg->test.window_weights == WINDOW_WEIGHTS_GAUSSIAN);
    transformer_init(&w->transformer, limits);
    w->pixels = xcalloc((size_t)tensor_len(b->pixels), 1);
    w->place = xcalloc(batch, sizeof(*w->place));
    w->logits = xcalloc((size_t)tensor_len(b->logits), sizeof(*w->logits));
    w->ignored = xmalloc(tensor_size(b->labels));
    memset(w->ignored, LABEL_IGNORE, tensor_size(b->labels));
    session_eval_begin(s, false);
    log_windows(w);
    return w;
}

void windows_close(struct windows *w)
{
    session_drain(w->session);
    transformer_release(&w->transformer);
    for (int k = 0; k < SCALES_MAX; k++) {
        free(w->canvas[k].sum);
        free(w->canvas[k].weight);
    }
    free(w->window_weight);
    free(w->scaled);
    free(w->pixels);
    free(w->place);
    free(w->logits);
    free(w->ignored);
    free(w->label);
    free(w);
}

/* Clears a canvas for a scaled image. */
static void canvas_begin(struct canvas *c, const struct windows *w, int image_w,
                         int image_h)
{
    int d = w->fit.label_divisor;
    size_t cells, classes = (size_t)w->classes;

    c->image_w = image_w;
    c->image_h = image_h;
    c->w = (image_w + d - 1) / d;
    c->h = (image_h + d - 1) / d;
    cells = (size_t)c->w * (size_t)c->h;
    if (cells > c->cap) {
        c->sum = xrealloc(c->sum, cells * classes * sizeof(*c->sum));
        c->weight = xrealloc(c->weight, cells * sizeof(*c->weight));
        c->cap = cells;
    }
    memset(c->sum, 0, cells * classes * sizeof(*c->sum));
    memset(c->weight, 0, cells * sizeof(*c->weight));
}

/* Adds the softmax of a cell's logits, times `weight`. */
static void add_cell(float *sum, const float *z, int classes, float weight)
{
    float e[LABEL_CLASSES], top = z[0], total = 0;

    for (int k = 1; k < classes; k++)
        top = z[k] > top ? z[k] : top;
    for (int k = 0; k < classes; k++)
        total += e[k] = expf(z[k] - top);
    for (int k = 0; k < classes; k++)
        sum[k] += e[k] * (weight / total);
}

/* Adds the probabilities of a window to the canvas. */
static void add_window(const struct windows *w, struct canvas *c,
                       const struct place *window, const float *logits)
{
    int d = w->fit.label_divisor;

#pragma omp parallel for
    for (int y = 0; y < w->cells_y; y++)
        for (int x = 0; x < w->cells_x; x++) {
            int cx = window->x / d + x, cy = window->y / d + y;
            int zx = window->view.hflip ? w->cells_x - 1 - x : x;
            int zy = window->view.vflip ? w->cells_y - 1 - y : y;
            float weight = w->window_weight[y * w->cells_x + x];
            int64_t cell = (int64_t)cy * c->w + cx;

            if (cx < 0 || cy < 0 || cx >= c->w || cy >= c->h)
                continue;
            add_cell(c->sum + cell * w->classes,
                     logits + ((int64_t)zy * w->cells_x + zx) * w->classes, w->classes,
                     weight);
            c->weight[cell] += weight;
        }
}

/* Runs the windows of the batch. */
static void run_batch(struct windows *w, struct canvas *c)
{
    int64_t each = (int64_t)w->cells_x * w->cells_y * w->classes;

    if (!w->waiting)
        return;
    session_eval(w->session, w->pixels, w->ignored);
    session_logits(w->session, w->logits);
    for (int i = 0; i < w->waiting; i++)
        add_window(w, c, &w->place[i], w->logits + i * each);
    w->waiting = 0;
}

/* Writes the pixels of a window: of the scaled image, mirrored by its view, `fill` outside. */
static void copy_window(const struct windows *w, const struct canvas *c,
                        const struct place *window, uint8_t *pixels)
{
    size_t channels = (size_t)transform_channels(&w->fit);

    for (int y = 0; y < w->fit.h; y++)
        for (int x = 0; x < w->fit.w; x++, pixels += channels) {
            int sx = window->x + (window->view.hflip ? w->fit.w - 1 - x : x);
            int sy = window->y + (window->view.vflip ? w->fit.h - 1 - y : y);
            bool inside = sx >= 0 && sy >= 0 && sx < c->image_w && sy < c->image_h;
            int64_t pixel = (int64_t)sy * c->image_w + sx;

            memcpy(pixels, inside ? w->scaled + pixel * (int64_t)channels : w->fit.fill,
                   channels);
        }
}

/* Runs all windows of the scaled image. */
static void cover(struct windows *w, struct canvas *c)
{
    int d = w->fit.label_divisor;
    double overlap = w->cfg->test.window_overlap;
    struct window_axis ax = window_axis(c->image_w, w->fit.w, overlap, d);
    struct window_axis ay = window_axis(c->image_h, w->fit.h, overlap, d);
    size_t each = transform_size(&w->fit);

    for (int y = 0; y < ay.n; y++)
        for (int x = 0; x < ax.n; x++)
            for (int v = 0; v < w->nviews; v++) {
                struct place window = {window_place(&ax, x), window_place(&ay, y),
                                       w->view[v]};

                copy_window(w, c, &window, w->pixels + (size_t)w->waiting * each);
                w->place[w->waiting++] = window;
                if (w->waiting == w->session->plan.val_batch)
                    run_batch(w, c);
            }
    run_batch(w, c);
    for (int64_t i = 0; i < (int64_t)c->w * c->h; i++)
        for (int k = 0; k < w->classes; k++)
            c->sum[i * w->classes + k] /= c->weight[i];
}

/* Fills the canvas of a w x h image at a scale. */
static int run_scale(struct windows *w, struct canvas *c, const void *data, size_t len,
                     int width, int height, double scale, struct strbuf *why)
{
    struct augment_key key = {0, 0, 0};
    struct transform t = w->fit;
    int fw = width, fh = height;

    if (scale > 0)
        transform_segment_fit(&w->fit, width, height, &fw, &fh);
    scale = scale > 0 ? scale : 1;
    t.kind = TRANSFORM_STRETCH;
    t.label_divisor = 0;
    t.w = (int)fmax(1, rint(fw * scale));
    t.h = (int)fmax(1, rint(fh * scale));
    if (transform_size(&t) > w->scaled_cap) {
        w->scaled_cap = transform_size(&t);
        w->scaled = xrealloc(w->scaled, w->scaled_cap);
    }
    if (transform_file(&w->transformer, &t, &key, data, len, w->scaled, why) < 0)
        return -1;
    canvas_begin(c, w, t.w, t.h);
    cover(w, c);
    return 0;
}

/* Adds the probabilities of the canvas at pixel (x, y) of a w x h image: bilinear between
 * the centers of cells. */
static void sample(const struct canvas *c, int divisor, int classes, double x, double y,
                   float *mean)
{
    double cx = fmin(fmax(x * c->image_w / divisor - 0.5, 0), c->w - 1);
    double cy = fmin(fmax(y * c->image_h / divisor - 0.5, 0), c->h - 1);
    int x0 = (int)cx, y0 = (int)cy;
    int x1 = x0 + 1 < c->w ? x0 + 1 : x0, y1 = y0 + 1 < c->h ? y0 + 1 : y0;
    float fx = (float)(cx - x0), fy = (float)(cy - y0);
    const float *a = c->sum + ((int64_t)y0 * c->w + x0) * classes;
    const float *b = c->sum + ((int64_t)y0 * c->w + x1) * classes;
    const float *e = c->sum + ((int64_t)y1 * c->w + x0) * classes;
    const float *f = c->sum + ((int64_t)y1 * c->w + x1) * classes;

    for (int k = 0; k < classes; k++)
        mean[k] +=
            (1 - fy) * ((1 - fx) * a[k] + fx * b[k]) + fy * ((1 - fx) * e[k] + fx * f[k]);
}

/* Labels a row of the image. Returns the sum of the losses of its pixels that are not
 * ignored by `truth`, which may be NULL, and adds their number to *pixels. */
static double label_row(const struct windows *w, int scales, int y,
                        const struct window_answer *out, const uint8_t *truth,
                        uint8_t *label, int64_t *pixels)
{
    double loss = 0;

    for (int x = 0; x < out->w; x++) {
        float mean[LABEL_CLASSES] = {0};
        int best = 0;

        for (int s = 0; s < scales; s++)
            sample(&w->canvas[s], w->fit.label_divisor, w->classes, (x + 0.5) / out->w,
                   (y + 0.5) / out->h, mean);
        for (int k = 1; k < w->classes; k++)
            best = mean[k] > mean[best] ? k : best;
        label[x] = (uint8_t)best;
        if (!truth || truth[x] == LABEL_IGNORE)
            continue;
        loss -= log(fmax((double)mean[truth[x]] / scales, 1e-30));
        ++*pixels;
    }
    return loss;
}

/* Labels the image from the canvases of its scales. Sums are in the order of the rows. */
static void label_pixels(struct windows *w, int scales, const struct label_reader *truth,
                         struct window_answer *out)
{
    double *loss = xcalloc((size_t)out->h, sizeof(*loss));
    int64_t *pixels = xcalloc((size_t)out->h, sizeof(*pixels));

#pragma omp parallel for
    for (int y = 0; y < out->h; y++) {
        int64_t row = (int64_t)y * out->w;

        loss[y] = label_row(w, scales, y, out, truth ? truth->pixel + row : NULL,
                            w->label + row, &pixels[y]);
    }
    for (int y = 0; y < out->h; y++) {
        out->loss_sum += loss[y];
        out->pixels += pixels[y];
    }
    free(loss);
    free(pixels);
}

int windows_predict(struct windows *w, const void *data, size_t len,
                    const struct label_reader *truth, struct window_answer *out,
                    struct strbuf *why)
{
    const struct config_test *test = &w->cfg->test;
    int scales = test->scales.n ? (int)test->scales.n : 1;
    struct image_decoder *d = w->transformer.decoder;

    *out = (struct window_answer){0};
    image_decoder_channels(d, transform_channels(&w->fit));
    if (image_decoder_open(d, data, len, &out->w, &out->h, why) < 0)
        return -1;
    if (truth && (truth->w != out->w || truth->h != out->h)) {
        strbuf_addf(why, "it has %d x %d pixels, but its label map has %d x %d", out->w,
                    out->h, truth->w, truth->h);
        return -1;
    }
    for (int s = 0; s < scales; s++)
        if (run_scale(w, &w->canvas[s], data, len, out->w, out->h,
                      test->scales.n ? test->scales.item[s] : 1, why) < 0)
            return -1;
    if ((size_t)out->w * (size_t)out->h > w->label_cap) {
        w->label_cap = (size_t)out->w * (size_t)out->h;
        w->label = xrealloc(w->label, w->label_cap);
    }
    label_pixels(w, scales, truth, out);
    out->label = w->label;
    return 0;
}
