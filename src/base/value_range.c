#include "base/value_range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Parses a number, with or without a percent sign; returns NULL on errors. */
static const char *number(const char *text, double *v, bool *percent)
{
    char *end;

    *v = strtod(text, &end);
    if (end == text || !isfinite(*v))
        return NULL;
    *percent = *end == '%';
    end += *percent;
    return end + strspn(end, " ");
}

bool value_range_parse(const char *text, struct value_range *r)
{
    bool first, second;
    const char *cursor;

    *r = (struct value_range){RANGE_AUTO, 0, 0};
    if (!strcmp(text, "auto"))
        return true;
    cursor = number(text, &r->lo, &first);
    if (!cursor || *cursor != ',')
        return false;
    cursor = number(cursor + 1, &r->hi, &second);
    if (!cursor || *cursor || first != second || !(r->lo < r->hi))
        return false;
    r->kind = first ? RANGE_PERCENTILES : RANGE_LIMITS;
    return !first || (r->lo >= 0 && r->hi <= 100);
}

static int compare(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Interpolates between the two neighbors, as numpy.percentile. */
static double percentile(const float *sorted, size_t n, double percent)
{
    double pos = percent / 100 * (double)(n - 1);
    size_t i = (size_t)pos, next = i + 1 < n ? i + 1 : i;

    return sorted[i] + (pos - (double)i) * ((double)sorted[next] - sorted[i]);
}

void value_range_of(const struct value_range *r, const float *values, size_t n,
                    double *lo, double *hi)
{
    struct value_range all = {RANGE_PERCENTILES, 0, 100};
    float *sorted;
    size_t m = 0;

    *lo = r->lo;
    *hi = r->hi;
    if (r->kind == RANGE_LIMITS)
        return;
    r = r->kind == RANGE_AUTO ? &all : r;
    sorted = xmalloc((n + 1) * sizeof(*sorted));
    for (size_t i = 0; i < n; i++)
        if (isfinite(values[i]))
            sorted[m++] = values[i];
    qsort(sorted, m, sizeof(*sorted), compare);
    *lo = m ? percentile(sorted, m, r->lo) : 0;
    *hi = m ? percentile(sorted, m, r->hi) : 0;
    *hi = *hi > *lo ? *hi : *lo + 1;
    free(sorted);
}
