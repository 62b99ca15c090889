#include "base/median.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), ascending);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}
