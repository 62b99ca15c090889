#include "models/imagenet_synsets.h"

#include <stdbool.h>
#include <string.h>

/* Per class, in order: 4 times the difference to the previous id, plus 2 if 22k has it,
 * plus 1 if 12k has it; in base-32 digits, the lowest first, with 32 added to all but the
 * last. */
static const char *const lines[] = {
#include "models/imagenet_synsets.inc"
    NULL,
};

static int digit(char c)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";

    return (int)(strchr(digits, c) - digits);
}

/* True if a classifier of `classes` classes has this class. */
static bool has_class(int classes, int bits)
{
    return classes == IMAGENET_21K || (classes == IMAGENET_22K && bits & 2) ||
           (classes == IMAGENET_12K && bits & 1);
}

int imagenet_synsets(int classes, int32_t *id)
{
    int n = 0, shift = 0;
    int32_t value = 0, last = 0;

    for (int i = 0; lines[i]; i++)
        for (const char *c = lines[i]; *c; c++) {
            int d = digit(*c);

            value |= (d & 31) << shift;
            shift += 5;
            if (d >= 32)
                continue;
            last += value >> 2;
            if (has_class(classes, value & 3))
                id[n++] = last;
            value = shift = 0;
        }
    return n;
}
