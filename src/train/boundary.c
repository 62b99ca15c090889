#include "train/boundary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "dist/group.h"

enum { NARROW = LABEL_CLASSES }; /* neither a class nor LABEL_IGNORE */

struct boundary *boundary_new(double ratio, int classes)
{
    struct boundary *b = xcalloc(1, sizeof(*b));

    b->ratio = ratio;
    b->classes = classes;
    return b;
}

void boundary_free(struct boundary *b)
{
    if (b)
        free(b->scratch);
    free(b);
}

int boundary_width(double ratio, int w, int h)
{
    double width = rint(ratio * sqrt((double)w * w + (double)h * h));

    return width > 1 ? (int)width : 1;
}

/* Replaces the pixels of a line, `step` bytes apart, by NARROW unless `width` pixels on
 * either side, all in the line, have their value. */
static void erode_line(uint8_t *value, int n, int64_t step, int width)
{
    for (int begin = 0, end; begin < n; begin = end) {
        uint8_t v = value[begin * step];

        for (end = begin + 1; end < n && value[end * step] == v;)
            end++;
        for (int i = begin; i < end; i++)
            if (i - begin < width || end - 1 - i < width)
                value[i * step] = NARROW;
    }
}

/* Erodes the masks of all classes at once: a pixel keeps its value if the square of
 * 2 width + 1 pixels around it has no other. */
static void erode(uint8_t *value, int w, int h, int width)
{
    for (int y = 0; y < h; y++)
        erode_line(value + (int64_t)y * w, w, 1, width);
    for (int x = 0; x < w; x++)
        erode_line(value + x, h, w, width);
}

void boundary_add(struct boundary *b, const uint8_t *label, const uint8_t *guess, int w,
                  int h)
{
    int64_t n = (int64_t)w * h;
    int width = boundary_width(b->ratio, w, h);
    uint8_t *inner, *inner_guess;

    if (b->cap < 2 * n)
        b->scratch = xrealloc(b->scratch, (size_t)(b->cap = 2 * n));
    inner = b->scratch;
    inner_guess = inner + n;
    memcpy(inner, label, (size_t)n);
    for (int64_t i = 0; i < n; i++)
        inner_guess[i] = label[i] == LABEL_IGNORE ? LABEL_IGNORE : guess[i];
    erode(inner, w, h, width);
    erode(inner_guess, w, h, width);
    for (int64_t i = 0; i < n; i++) {
        if (label[i] == LABEL_IGNORE)
            continue;
        b->label[label[i]] += inner[i] == NARROW;
        b->guess[guess[i]] += inner_guess[i] == NARROW;
        b->both[label[i]] +=
            inner[i] == NARROW && inner_guess[i] == NARROW && label[i] == guess[i];
    }
}

void boundary_gather(struct boundary *b)
{
    dist_sum_counts(b->label, b->classes);
    dist_sum_counts(b->guess, b->classes);
    dist_sum_counts(b->both, b->classes);
}

double boundary_iou(const struct boundary *b, int class)
{
    int64_t either = b->label[class] + b->guess[class] - b->both[class];

    return b->label[class] ? (double)b->both[class] / (double)either : (double)NAN;
}
