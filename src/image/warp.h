/*
 * Affine maps of an image to one of the same size, as Pillow's Image.transform and
 * Image.rotate: output pixel (x, y) reads the input at
 *
 *   (m0 (x + 0.5) + m1 (y + 0.5) + m2,  m3 (x + 0.5) + m4 (y + 0.5) + m5),
 *
 * without antialiasing, and is `fill` if that is outside. Pillow's bicubic is here the
 * one with a = -1, unlike in its resize. Results are truncated to integers and within one
 * gray level of Pillow's, which computes in double. Maps that only shift rows, or
 * everything along y, are several times faster.
 */
#ifndef IMAGE_WARP_H
#define IMAGE_WARP_H

#include <stddef.h>
#include <stdint.h>

enum warp_filter { WARP_BILINEAR, WARP_BICUBIC };

/* Memory that warp_affine uses and enlarges; initialize to {0}. */
struct warp_canvas {
    void *pixel; /* four floats per pixel, with a border of repeated pixels; or bytes */
    size_t cap;
};

void warp_canvas_release(struct warp_canvas *c);

/* Grows the canvas to `need` bytes; returns them, with undefined content. */
void *warp_canvas_reserve(struct warp_canvas *c, size_t need);

/* w * h pixels of RGB without row padding, in place. */
void warp_affine(struct warp_canvas *c, uint8_t *rgb, int w, int h, const double m[6],
                 enum warp_filter filter, const uint8_t fill[3]);

/*
 * The same for a projective map: both coordinates above divided by m6 (x + 0.5) +
 * m7 (y + 0.5) + m8, as Pillow's PERSPECTIVE with m8 = 1.
 */
void warp_projective(struct warp_canvas *c, uint8_t *rgb, int w, int h, const double m[9],
                     enum warp_filter filter, const uint8_t fill[3]);

void warp_shear_x(double m[6], double factor); /* x + factor y */
void warp_shear_y(double m[6], double factor); /* y + factor x */
void warp_translate(double m[6], double x, double y);
void warp_rotate(double m[6], double degrees, int w, int h); /* counterclockwise */

/* Rotates counterclockwise about the center and shears along x by an angle, both in
 * degrees, scales, and shifts right by x and down by y pixels (torchvision's
 * F.affine). */
struct warp_place {
    double degrees, x, y, scale, shear;
};
void warp_place(double m[6], const struct warp_place *p, int w, int h);

/* Moves the corners of the image, clockwise from the top left, to these points
 * (torchvision's F.perspective). */
void warp_corners(double m[9], int w, int h, double corner[4][2]);

/* Mirror w * h pixels of RGB in place. */
void mirror_columns(uint8_t *rgb, int w, int h);
void mirror_rows(uint8_t *rgb, int w, int h);

#endif
