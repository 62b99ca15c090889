#include "cmd/check_labels.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/say.h"

bool check_labels_differ(const struct dataset *a, int64_t i, const struct dataset *b,
                         int64_t k)
{
    size_t n = dataset_target_size(a);
    uint8_t *x, *y;
    bool differ;

    if (dataset_has_labels(a) || dataset_label(a, i) != dataset_label(b, k))
        return !dataset_has_labels(a);
    if (!dataset_has_targets(a) || !dataset_has_targets(b) || dataset_target_size(b) != n)
        return false;
    x = xcalloc(2 * n + 1, 1);
    y = x + n;
    dataset_targets(a, i, x);
    dataset_targets(b, k, y);
    differ = memcmp(x, y, n) != 0;
    free(x);
    return differ;
}

/* Prints the range of each target. */
static void print_values(const struct dataset *d)
{
    size_t n = (size_t)d->nclass;
    float *y = xcalloc(3 * n, sizeof(*y)), *min = y + n, *max = y + 2 * n;

    for (int64_t i = 0; i < d->n; i++) {
        dataset_targets(d, i, y);
        for (size_t k = 0; k < n; k++) {
            min[k] = !i || y[k] < min[k] ? y[k] : min[k];
            max[k] = !i || y[k] > max[k] ? y[k] : max[k];
        }
    }
    for (size_t k = 0; k < n; k++)
        say("%s%s from %g to %g", k ? ", " : "; ", d->class_name[k], (double)min[k],
            (double)max[k]);
    free(y);
}

static void print_classes(const struct dataset *d, const struct inspected *found)
{
    int64_t *n = xcalloc((size_t)d->nclass + 1, sizeof(*n));
    int smallest = 0, largest = 0;

    for (int64_t i = 0; i < d->n; i++) {
        int32_t label = dataset_label(d, i);

        if (!found[i].why && label >= 0 && label < d->nclass)
            n[label]++;
    }
    for (int k = 0; k < d->nclass; k++) {
        smallest = n[k] < n[smallest] ? k : smallest;
        largest = n[k] > n[largest] ? k : largest;
    }
    say("; %d class%s of %" PRId64, d->nclass, d->nclass == 1 ? "" : "es", n[smallest]);
    if (n[smallest] != n[largest])
        say(" ('%s') to %" PRId64 " ('%s')", d->class_name[smallest], n[largest],
            d->class_name[largest]);
    say(" images");
    free(n);
}

void check_print_labels(const struct dataset *d, const struct inspected *found)
{
    if (d->values)
        print_values(d);
    else if (!dataset_has_labels(d) && d->nclass)
        print_classes(d, found);
}
