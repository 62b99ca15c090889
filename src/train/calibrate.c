#include "train/calibrate.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { BINS = CALIBRATION_BINS };

void calibration_add_largest(struct calibration *c, const float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        double a = fabs((double)x[i]);

        if (!isfinite(a))
            c->bad++;
        else if (a > c->max_abs)
            c->max_abs = a;
    }
}

void calibration_count(struct calibration *c, const float *x, int64_t n)
{
    double bins_per_unit = c->max_abs > 0 ? BINS / c->max_abs : 0;

    for (int64_t i = 0; i < n; i++) {
        double a = fabs((double)x[i]);
        int64_t k = isfinite(a) ? (int64_t)(a * bins_per_unit) : 0;

        c->bin[k < BINS ? k : BINS - 1]++;
    }
    c->n += n;
}

static double range_minmax(const struct calibration *c, int levels, double percentile)
{
    (void)levels, (void)percentile;
    return c->max_abs;
}

/* Clips all but `percentile` percent of the values. */
static double range_percentile(const struct calibration *c, int levels, double percentile)
{
    double want = (double)c->n * percentile / 100, sum = 0;

    (void)levels;
    for (int k = 0; k < BINS; k++) {
        sum += (double)c->bin[k];
        if (sum >= want)
            return c->max_abs * (k + 1) / BINS;
    }
    return c->max_abs;
}

/* Rounds the first n bins to `levels` steps: q[k] is the mean of the nonempty bins in the
 * step of bin k, or 0 if bin k is empty. */
static void requantize(const int64_t *bin, int n, int levels, double *q)
{
    for (int l = 0; l < levels; l++) {
        int lo = (int)((int64_t)l * n / levels),
            hi = (int)((int64_t)(l + 1) * n / levels);
        double sum = 0;
        int there = 0;

        for (int k = lo; k < hi; k++) {
            sum += (double)bin[k];
            there += bin[k] > 0;
        }
        for (int k = lo; k < hi; k++)
            q[k] = bin[k] ? sum / there : 0;
    }
}

/* Returns the Kullback-Leibler divergence of requantize() from the first n bins, the last
 * of which also counts all larger values. */
static double divergence(const struct calibration *c, int n, int levels)
{
    double q[BINS], all = (double)c->n, in_q = 0, beyond = 0, d = 0;

    requantize(c->bin, n, levels, q);
    for (int k = n; k < BINS; k++)
        beyond += (double)c->bin[k];
    for (int k = 0; k < n; k++)
        in_q += q[k];
    for (int k = 0; k < n; k++) {
        double p = (double)c->bin[k] + (k == n - 1 ? beyond : 0);

        if (p <= 0)
            continue;
        if (q[k] <= 0) /* an empty bin to which larger values are clipped */
            q[k] = 1e-3;
        d += p / all * log(p / all / (q[k] / in_q));
    }
    return d;
}

/* Returns the range whose rounded histogram has the least Kullback-Leibler divergence
 * (Migacz 2017, "8-bit inference with TensorRT"). Bin 0 is ignored, because zeros are
 * exact. */
static double range_entropy(const struct calibration *c, int levels, double percentile)
{
    struct calibration nonzero = *c;
    double least = INFINITY, best = c->max_abs;

    (void)percentile;
    nonzero.n -= nonzero.bin[0];
    nonzero.bin[0] = 0;
    if (nonzero.n <= 0)
        return c->max_abs;
    for (int n = levels + 1; n <= BINS; n++) {
        double d = divergence(&nonzero, n, levels);

        if (d < least) {
            least = d;
            best = c->max_abs * n / BINS;
        }
    }
    return best;
}

static const char *const percentile_reads[] = {"QUANT.PERCENTILE", NULL};

static const struct calibrator calibrators[] = {
    {"minmax", "the largest magnitude: nothing is clipped", range_minmax, NULL},
    {"percentile", "clips all but QUANT.PERCENTILE percent of the values",
     range_percentile, percentile_reads},
    {"entropy", "the clipping that preserves most of the distribution, as in TensorRT",
     range_entropy, NULL},
    {NULL, NULL, NULL, NULL},
};

static struct named calibrator_at(const void *table, int i)
{
    const struct calibrator *row = (const struct calibrator *)table + i;

    return (struct named){.name = row->name, .help = row->help, .reads = row->reads};
}

const struct names calibrator_names = {.entry = calibrator_at, .table = calibrators};

const struct calibrator *calibrator_find(const char *name)
{
    int i = names_find(&calibrator_names, name);

    return i < 0 ? NULL : &calibrators[i];
}
