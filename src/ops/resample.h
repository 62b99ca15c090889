/*
 * resample: images of another height and width, each pixel a weighted sum of pixels of x,
 * as torch.nn.functional.interpolate defines them (ops/resample_taps.h).
 *
 *   x = resample(&b, x, "decoder.up", .out_h = 2 * h, .out_w = 2 * w)
 *   x = resample(&b, x, "up", .mode = RESAMPLE_BICUBIC, .out_h = 7, .out_w = 9,
 *                .align_corners = 1)
 *
 * align_corners and antialias are for bilinear and bicubic. (ops/resize.h is the loader's
 * resizing of bytes.)
 */
#ifndef OPS_RESAMPLE_H
#define OPS_RESAMPLE_H

#include "graph/graph.h"
#include "ops/resample_taps.h"

#ifdef __cplusplus
extern "C" {
#endif

struct resample_attrs {
    const char *layer;
    int out_h, out_w;
    int mode; /* enum resample_mode */
    int align_corners;
    int antialias; /* 1: smooths before it shrinks, as Pillow does */
    /* If out_h and out_w are the floor of H and W times a factor (PyTorch's scale_factor):
     * that factor, from which positions are computed. 0: from the sizes. */
    float scale_h, scale_w;
    int in_h, in_w; /* set by the builder: H and W of x */
};

enum { RESAMPLE_X };
enum { RESAMPLE_GRAD_DY }; /* dx [N,C,in_h,in_w] */

#define resample(b, x, ...)                                                              \
    resample_((b), (x), &(const struct resample_attrs){.layer = __VA_ARGS__})
struct tensor *resample_(struct builder *b, struct tensor *x,
                         const struct resample_attrs *a);

/* The taps of a node of either op, of its output's rows or columns. */
struct resample_taps resample_rows(const struct node *n);
struct resample_taps resample_columns(const struct node *n);

extern const struct op op_resample, op_resample_grad;

#ifdef __cplusplus
}
#endif

#endif
