#include "train/ordinal.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

struct ordinal_scores ordinal_scores_unknown(void)
{
    return (struct ordinal_scores){(double)NAN, (double)NAN};
}

/* Returns the most probable class of image i, or -1 if a probability is NaN. */
static int answer_of(const struct image_rows *rows, int64_t i)
{
    const float *p = rows->value + i * rows->width + 1;
    int best = 0;

    for (int k = 0; k < rows->width - 1; k++) {
        if (isnan(p[k]))
            return -1;
        if (p[k] > p[best])
            best = k;
    }
    return best;
}

/* Returns count[label * classes + answer], which the caller frees, or NULL if a probability
 * is NaN. */
static double *count_pairs(const struct image_rows *rows)
{
    size_t classes = (size_t)rows->width - 1;
    double *count = xcalloc(classes * classes, sizeof(*count));

    for (int64_t i = 0; i < rows->n; i++) {
        int label = (int)rows->value[i * rows->width], answer = answer_of(rows, i);

        if (answer < 0) {
            free(count);
            return NULL;
        }
        count[(size_t)label * classes + (size_t)answer]++;
    }
    return count;
}

/* Returns the sum of squared distances of the pairs that occur; *chance gets that of pairs
 * with the same classes and answers, if they were independent. */
static double disagreement(const double *count, int classes, double n, double *chance)
{
    double *label = xcalloc(2 * (size_t)classes, sizeof(*label)),
           *answer = label + classes, sum = 0;

    *chance = 0;
    for (int y = 0; y < classes; y++)
        for (int p = 0; p < classes; p++) {
            double c = count[y * classes + p];

            label[y] += c;
            answer[p] += c;
            sum += c * (y - p) * (y - p);
        }
    for (int y = 0; y < classes; y++)
        for (int p = 0; p < classes; p++)
            *chance += label[y] * answer[p] / n * (y - p) * (y - p);
    free(label);
    return sum;
}

struct ordinal_scores ordinal_scores_of(const struct image_rows *rows)
{
    struct ordinal_scores s = ordinal_scores_unknown();
    int classes = rows->width - 1;
    double n = (double)rows->n, distance = 0, chance, square;
    double *count = rows->n ? count_pairs(rows) : NULL;

    if (!count)
        return s;
    for (int y = 0; y < classes; y++)
        for (int p = 0; p < classes; p++)
            distance += count[y * classes + p] * abs(y - p);
    square = disagreement(count, classes, n, &chance);
    s.mae = distance / n;
    s.kappa = chance > 0 ? 1 - square / chance : (double)NAN;
    free(count);
    return s;
}
