/* The maps of affine and projective warps. */
#include <math.h>
#include <string.h>

#include "image/warp.h"

static void warp_set(double m[6], const double v[6])
{
    memcpy(m, v, 6 * sizeof(*m));
}

void warp_shear_x(double m[6], double factor)
{
    warp_set(m, (const double[6]){1, factor, 0, 0, 1, 0});
}

void warp_shear_y(double m[6], double factor)
{
    warp_set(m, (const double[6]){1, 0, 0, factor, 1, 0});
}

void warp_translate(double m[6], double x, double y)
{
    warp_set(m, (const double[6]){1, 0, x, 0, 1, y});
}

void warp_rotate(double m[6], double degrees, int w, int h)
{
    double c = cos(-degrees * M_PI / 180), s = sin(-degrees * M_PI / 180);
    double cx = w / 2.0, cy = h / 2.0;

    warp_set(m,
             (const double[6]){c, s, cx - c * cx - s * cy, -s, c, cy + s * cx - c * cy});
}

void warp_place(double m[6], const struct warp_place *p, int w, int h)
{
    double rot = -p->degrees * M_PI / 180, sx = p->shear * M_PI / 180;
    double a = cos(rot), b = -cos(rot) * tan(sx) - sin(rot);
    double c = sin(rot), d = -sin(rot) * tan(sx) + cos(rot);
    double inverse[4] = {d / p->scale, -b / p->scale, -c / p->scale, a / p->scale};
    double cx = w / 2.0, cy = h / 2.0;

    warp_set(m,
             (const double[6]){inverse[0], inverse[1],
                               cx - inverse[0] * (cx + p->x) - inverse[1] * (cy + p->y),
                               inverse[2], inverse[3],
                               cy - inverse[2] * (cx + p->x) - inverse[3] * (cy + p->y)});
}

enum { UNKNOWNS = 8 };

/* Solves by Gaussian elimination with row pivots; a is overwritten. */
static void warp_solve(double a[UNKNOWNS][UNKNOWNS + 1], double x[UNKNOWNS])
{
    for (int k = 0; k < UNKNOWNS; k++) {
        int pivot = k;

        for (int i = k + 1; i < UNKNOWNS; i++)
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        for (int j = 0; j <= UNKNOWNS; j++) {
            double v = a[k][j];

            a[k][j] = a[pivot][j];
            a[pivot][j] = v;
        }
        for (int i = k + 1; i < UNKNOWNS; i++) {
            double f = a[i][k] / a[k][k];

            for (int j = k; j <= UNKNOWNS; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    for (int k = UNKNOWNS - 1; k >= 0; k--) {
        x[k] = a[k][UNKNOWNS];
        for (int j = k + 1; j < UNKNOWNS; j++)
            x[k] -= a[k][j] * x[j];
        x[k] /= a[k][k];
    }
}

void warp_corners(double m[9], int w, int h, double corner[4][2])
{
    const double src[4][2] = {{0, 0}, {w - 1, 0}, {w - 1, h - 1}, {0, h - 1}};
    double a[UNKNOWNS][UNKNOWNS + 1];

    for (int k = 0; k < 4; k++) {
        double x = corner[k][0], y = corner[k][1], u = src[k][0], v = src[k][1];
        const double rows[2][UNKNOWNS + 1] = {{x, y, 1, 0, 0, 0, -u * x, -u * y, u},
                                              {0, 0, 0, x, y, 1, -v * x, -v * y, v}};

        memcpy(a[2 * k], rows, sizeof(rows));
    }
    warp_solve(a, m);
    m[8] = 1;
}

void mirror_columns(uint8_t *rgb, int w, int h)
{
    for (int y = 0; y < h; y++, rgb += 3 * (ptrdiff_t)w)
        for (int x = 0; x < w / 2; x++)
            for (int c = 0; c < 3; c++) {
                uint8_t *l = &rgb[3 * x + c], *r = &rgb[3 * (w - 1 - x) + c], v = *l;

                *l = *r;
                *r = v;
            }
}

void mirror_rows(uint8_t *rgb, int w, int h)
{
    size_t row = (size_t)w * 3;
    uint8_t *top = rgb, *bottom = rgb + row * (size_t)(h - 1);

    for (; top < bottom; top += row, bottom -= row)
        for (size_t i = 0; i < row; i++) {
            uint8_t v = top[i];

            top[i] = bottom[i];
            bottom[i] = v;
        }
}
