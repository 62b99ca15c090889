#include "train/regression.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "io/csv.h"

void regression_init(struct image_rows *rows, int targets)
{
    image_rows_init(rows, 2 * targets);
}

void regression_add(struct image_rows *rows, int64_t sample, const float *target,
                    const float *value)
{
    float *row = image_rows_add(rows, sample);
    int targets = rows->width / 2;

    for (int k = 0; k < targets; k++) {
        row[k] = value[k];
        row[targets + k] = target[k];
    }
}

static double value_of(const struct image_rows *rows, int64_t i, int k)
{
    return (double)rows->value[i * rows->width + k];
}

static double target_of(const struct image_rows *rows, int64_t i, int k)
{
    return value_of(rows, i, rows->width / 2 + k);
}

/* `wrong`: sum of squared errors; `spread`: of squared deviations of the target. */
static double r2_of(double wrong, double spread, int64_t images)
{
    if (images < 2)
        return (double)NAN;
    if (spread > 0)
        return 1 - wrong / spread;
    return wrong > 0 ? 0 : 1;
}

static struct regression_score score_target(const struct image_rows *rows, int k)
{
    double n = (double)rows->n, absolute = 0, square = 0, mean = 0, spread = 0;

    for (int64_t i = 0; i < rows->n; i++) {
        double e = value_of(rows, i, k) - target_of(rows, i, k);

        absolute += fabs(e);
        square += e * e;
        mean += target_of(rows, i, k);
    }
    mean /= n;
    for (int64_t i = 0; i < rows->n; i++) {
        double d = target_of(rows, i, k) - mean;

        spread += d * d;
    }
    if (!rows->n || isnan(square))
        return (struct regression_score){(double)NAN, (double)NAN, (double)NAN};
    return (struct regression_score){absolute / n, sqrt(square / n),
                                     r2_of(square, spread, rows->n)};
}

struct regression_scores *regression_scores_of(const struct image_rows *rows)
{
    int targets = rows->width / 2;
    size_t size = (size_t)targets * sizeof(struct regression_score);
    struct regression_scores *s = xcalloc(1, sizeof(*s) + size);

    s->images = rows->n;
    s->targets = targets;
    for (int k = 0; k < targets; k++) {
        s->score[k] = score_target(rows, k);
        s->mean.mae += s->score[k].mae / targets;
        s->mean.rmse += s->score[k].rmse / targets;
        s->mean.r2 += s->score[k].r2 / targets;
    }
    return s;
}

void regression_add_csv(struct strbuf *out, const struct regression_scores *s,
                        const char *const *name)
{
    strbuf_addstr(out, "target,images,mae,rmse,r2\n");
    for (int k = 0; k < s->targets; k++) {
        csv_add_name(out, name[k]);
        strbuf_addf(out, ",%lld", (long long)s->images);
        csv_add_score(out, s->score[k].mae);
        csv_add_score(out, s->score[k].rmse);
        csv_add_score(out, s->score[k].r2);
        strbuf_addch(out, '\n');
    }
}
