#include "train/ranking.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    float x = ((const struct ranked *)a)->score, y = ((const struct ranked *)b)->score;

    return (x < y) - (x > y);
}

void ranking_sort(struct ranked *r, int64_t n)
{
    qsort(r, (size_t)n, sizeof(*r), compare);
}

int64_t ranking_ties(const struct ranked *r, int64_t n, int64_t first, double *positives,
                     double *negatives)
{
    int64_t end = first;

    *positives = *negatives = 0;
    for (; end < n && r[end].score == r[first].score; end++)
        *(r[end].positive ? positives : negatives) += 1;
    return end;
}

double ranking_auroc(const struct ranked *r, int64_t n)
{
    double wins = 0, above = 0, positives = 0, negatives = 0;

    for (int64_t i = 0; i < n;) {
        i = ranking_ties(r, n, i, &positives, &negatives);
        wins += negatives * (above + positives / 2);
        above += positives;
    }
    negatives = (double)n - above;
    return above > 0 && negatives > 0 ? wins / (above * negatives) : (double)NAN;
}
