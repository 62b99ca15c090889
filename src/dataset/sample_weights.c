#include "dataset/sample_weights.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

static int64_t *count_classes(const struct dataset *d)
{
    int64_t *count = xcalloc((size_t)d->nclass + 1, sizeof(*count));

    for (int64_t i = 0; i < d->n; i++) {
        int32_t label = dataset_label(d, i);

        if (label >= 0 && label < d->nclass)
            count[label]++;
    }
    return count;
}

static double weight_of(const struct dataset *d, int64_t i, enum sampling rule,
                        const int64_t *count)
{
    int32_t label;
    double n;

    if (rule == SAMPLING_WEIGHTS)
        return dataset_weight(d, i);
    label = dataset_label(d, i);
    n = label >= 0 && label < d->nclass ? (double)count[label] : 1;
    return rule == SAMPLING_SQRT ? 1 / sqrt(n) : 1 / n;
}

double *sample_weights(const struct dataset *d, enum sampling rule)
{
    int64_t *count;
    double *sum, total = 0;

    if (rule == SAMPLING_UNIFORM)
        return NULL;
    if (rule == SAMPLING_WEIGHTS && !d->type->weight)
        usage("DATA.SAMPLER weights: '%s' has no weights: use a table and set "
              "DATA.WEIGHT_COLUMN",
              d->name);
    if (rule != SAMPLING_WEIGHTS && dataset_has_labels(d))
        usage("DATA.SAMPLER: '%s' has label maps, not a class per image", d->name);
    count = count_classes(d);
    sum = xcalloc((size_t)d->n + 1, sizeof(*sum));
    for (int64_t i = 0; i < d->n; i++) {
        double w = weight_of(d, i, rule, count);

        if (!(w >= 0) || !isfinite(w))
            die("'%s': the weight of sample %lld is %g: expected at least 0", d->name,
                (long long)i + 1, w);
        sum[i] = total += w;
    }
    if (!(total > 0) || !isfinite(total))
        die("'%s': the weights of the samples sum to %g", d->name, total);
    free(count);
    return sum;
}
