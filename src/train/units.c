#include "train/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "session/losses.h"
#include "session/state.h"

/* Returns the offset of a target's unit in the flat weights. */
static int64_t offset_of(const struct session *s, const char *name)
{
    const struct flat *f = session_flat(s);

    for (int i = 0; i < f->nsegment; i++)
        if (!strcmp(f->segment[i].tensor->name, name))
            return f->segment[i].offset;
    BUG("the net has no %s", name);
}

static void measure(const struct dataset *d, double *mean, double *std)
{
    size_t n = (size_t)d->nclass;
    float *y = xcalloc(n, sizeof(*y));

    for (int pass = 0; pass < 2; pass++) {
        for (int64_t i = 0; i < d->n; i++) {
            dataset_targets(d, i, y);
            for (size_t k = 0; k < n; k++)
                if (pass)
                    std[k] += ((double)y[k] - mean[k]) * ((double)y[k] - mean[k]);
                else
                    mean[k] += (double)y[k];
        }
        for (size_t k = 0; k < n; k++)
            if (pass)
                std[k] = sqrt(std[k] / (double)d->n);
            else
                mean[k] /= (double)d->n;
    }
    free(y);
}

/* Logs the units of the first few targets, and warns about targets that fp32 holds badly. */
static void report(const struct dataset *d, const double *mean, double *std)
{
    enum { SHOWN = 5 };

    for (int k = 0; k < d->nclass; k++) {
        if (k < SHOWN)
            log_info("target %s: mean %.6g, standard deviation %.6g", d->class_name[k],
                     mean[k], std[k]);
        /* fp32 targets that differ only in their last digits */
        if (std[k] > 0 && std[k] < 1e-5 * fabs(mean[k]))
            log_warning("'%s': the target %s varies by only %.3g around %.6g: subtract a "
                        "constant in the table, since targets have 7 digits",
                        d->name, d->class_name[k], std[k], mean[k]);
        if (!(std[k] > 0)) /* dataset/survey.h warns */
            std[k] = 1;
    }
}

static void put(struct session *s, enum memory m, const double *mean, const double *std)
{
    int64_t at_mean = offset_of(s, LOSSES_UNITS ".mean"),
            at_std = offset_of(s, LOSSES_UNITS ".std");
    float *flat = xmalloc((size_t)session_flat(s)->weights_len * sizeof(*flat));

    session_get(s, m, flat);
    for (int64_t k = 0; k < session_classes(s); k++) {
        flat[at_mean + k] = (float)mean[k];
        flat[at_std + k] = (float)std[k];
    }
    session_set(s, m, flat);
    free(flat);
}

void units_learn(struct session *s, const struct dataset *train)
{
    double *mean, *std;

    if (s->plan.task != MODEL_REGRESSION)
        return;
    mean = xcalloc(2 * (size_t)train->nclass, sizeof(*mean));
    std = mean + train->nclass;
    measure(train, mean, std);
    report(train, mean, std);
    put(s, MEMORY_WEIGHTS, mean, std);
    if (session_has_ema(s))
        put(s, MEMORY_EMA, mean, std);
    session_refresh(s);
    free(mean);
}

void units_std(const struct session *s, float *std)
{
    float *flat = xmalloc((size_t)session_flat(s)->weights_len * sizeof(*flat));

    session_get(s, MEMORY_WEIGHTS, flat);
    memcpy(std, flat + offset_of(s, LOSSES_UNITS ".std"),
           (size_t)session_classes(s) * sizeof(*std));
    free(flat);
}
