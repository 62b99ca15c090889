/*
 * Segmentation of whole images in windows: mmsegmentation's slide, multi-scale, and flip
 * tests (TEST.SCALES, TEST.WINDOW_OVERLAP, TEST.WINDOW_WEIGHTS, TEST.TTA).
 *
 *   struct windows *w = windows_open(cfg, &session, &limits);
 *   label = windows_predict(w, data, len, ...);      the class of each pixel
 *   windows_close(w);
 *
 * At scale s the image is resized to s times the size at which it fits the network's input,
 * or keeps its size if s is 0. Windows of the input's size cover it, in equal steps, each
 * overlapping the next by at least TEST.WINDOW_OVERLAP; a smaller image is padded as in
 * validation. Softmax probabilities of windows are averaged with weights,
 *
 *   uniform   1
 *   gaussian  exp(-(dx^2 + dy^2) / 2), dx and dy: distance to the window's center in eighths
 *             of its width and height (Isensee et al. 2021, nnU-Net), at least 1e-4
 *
 * then resized to the image (bilinear, pixel centers) and averaged over scales and flips.
 */
#ifndef TRAIN_WINDOWS_H
#define TRAIN_WINDOWS_H

#include "config/problems.h"
#include "image/image.h"
#include "image/label.h"
#include "session/session.h"

/* True if the configuration asks for windows: TEST.SCALES or TEST.TTA of a segmentation. */
bool windows_wanted(const struct config *cfg);
/* Reports keys that segmentation in windows cannot have. */
void windows_check(const struct config *cfg, struct problems *p);

/* Returns a batch size that a single image fills: DATA.VAL_BATCH_SIZE if it is set, else the
 * views of a window, twice as many if a scale needs several windows. */
int windows_batch(const struct config *cfg);

/* The position of windows along an axis of `size` pixels: the least number of windows of
 * `window` pixels that overlap by the share `overlap`. Positions are multiples of `grid`;
 * negative if the axis is shorter than the window, which is centered then. */
struct window_axis {
    int size, window, grid, n;
};
struct window_axis window_axis(int size, int window, double overlap, int grid);
int window_place(const struct window_axis *a, int i);

struct windows;

/* The session evaluates; its batch is DATA.VAL_BATCH_SIZE. */
struct windows *windows_open(const struct config *cfg, struct session *s,
                             const struct image_limits *limits);
void windows_close(struct windows *w);

/* The label map of an image and, with `truth`, its sums over the pixels that are not
 * ignored. */
struct window_answer {
    const uint8_t *label; /* [h, w]; valid until the next call */
    int w, h;
    double loss_sum; /* of -log(probability of the true class) */
    int64_t pixels;
};

/* Predicts the image in a file's bytes. `truth` is a label map of its size, or NULL. Returns
 * a failure of base/failure.h and a reason without the file's name. */
int windows_predict(struct windows *w, const void *data, size_t len,
                    const struct label_reader *truth, struct window_answer *out,
                    struct strbuf *why);

#endif
