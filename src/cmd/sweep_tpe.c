#include "cmd/sweep_tpe.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/philox.h"

enum { CANDIDATES = 24, GOOD_MAX = 25 };

/* The random numbers of a trial. */
struct draws {
    uint64_t seed, trial, next;
};

static double draw(struct draws *d)
{
    return (double)philox_uniform(
        philox(d->seed, PHILOX_SHUFFLE, d->trial, d->next++).v[0]);
}

/* A mixture of n normal distributions on [0, 1]. */
struct mixture {
    double *mean, *width;
    int n;
};

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void mixture_init(struct mixture *m, const double *ptr, int n)
{
    double narrowest = 1.0 / (n + 1 < 100 ? n + 1 : 100);

    m->mean = xcalloc((size_t)n + 1, sizeof(*m->mean));
    m->width = xcalloc((size_t)n + 1, sizeof(*m->width));
    m->n = n + 1;
    for (int i = 0; i < n; i++)
        m->mean[i] = ptr[i];
    qsort(m->mean, (size_t)n, sizeof(*m->mean), compare);
    for (int i = 0; i < n; i++) {
        double left = m->mean[i] - (i ? m->mean[i - 1] : 0);
        double right = (i + 1 < n ? m->mean[i + 1] : 1) - m->mean[i];

        m->width[i] = fmin(fmax(fmax(left, right), narrowest), 1);
    }
    m->mean[n] = 0.5; /* the broad one */
    m->width[n] = 1;
}

static void mixture_release(struct mixture *m)
{
    free(m->mean);
    free(m->width);
}

/* Returns the distribution function of the standard normal distribution. */
static double normal_cdf(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

static double mixture_density(const struct mixture *m, double x)
{
    double sum = 0;

    for (int i = 0; i < m->n; i++) {
        double z = (x - m->mean[i]) / m->width[i];
        double inside = normal_cdf((1 - m->mean[i]) / m->width[i]) -
                        normal_cdf(-m->mean[i] / m->width[i]);

        sum += exp(-z * z / 2) / m->width[i] / inside;
    }
    return sum / m->n;
}

/* Draws until a sample of a component is in [0, 1). */
static double mixture_draw(const struct mixture *m, struct draws *d)
{
    int i = (int)(draw(d) * m->n);

    for (;;) {
        double radius = sqrt(-2 * log(1 - draw(d)));
        double x = m->mean[i] + m->width[i] * radius * cos(2 * acos(-1) * draw(d));

        if (x >= 0 && x < 1)
            return x;
    }
}

/* Splits the positions of the trials on an axis. Returns the number of good ones, which
 * are first. */
static int split(const struct tpe_trial *const *order, int n, int axis, double *ptr)
{
    int good = (n + 9) / 10;

    for (int i = 0; i < n; i++)
        ptr[i] = order[i]->position[axis];
    return good < GOOD_MAX ? good : GOOD_MAX;
}

static double propose_number(const double *ptr, int good, int n, struct draws *d)
{
    struct mixture l, g;
    double best = 0, best_ratio = -1;

    mixture_init(&l, ptr, good);
    mixture_init(&g, ptr + good, n - good);
    for (int i = 0; i < CANDIDATES; i++) {
        double x = mixture_draw(&l, d);
        double ratio = mixture_density(&l, x) / mixture_density(&g, x);

        if (ratio > best_ratio) {
            best = x;
            best_ratio = ratio;
        }
    }
    mixture_release(&l);
    mixture_release(&g);
    return best;
}

/* Returns the share of a choice among these trials, with one more that is spread evenly. */
static double share(const double *ptr, int n, int choice, int choices)
{
    int count = 0;

    for (int i = 0; i < n; i++)
        count += (int)(ptr[i] * choices) == choice;
    return (count + 1.0 / choices) / (n + 1);
}

static double propose_choice(const double *ptr, int good, int n, int choices,
                             struct draws *d)
{
    int best = 0;
    double best_ratio = -1;

    for (int i = 0; i < CANDIDATES; i++) {
        double u = draw(d), ratio;
        int c = 0;

        while (c + 1 < choices && u >= share(ptr, good, c, choices))
            u -= share(ptr, good, c++, choices);
        ratio = share(ptr, good, c, choices) / share(ptr + good, n - good, c, choices);
        if (ratio > best_ratio) {
            best = c;
            best_ratio = ratio;
        }
    }
    return (best + 0.5) / choices;
}

/* The number of values of an axis that are told apart by name; 0: numbers. */
static int choices_of(const struct space_axis *a)
{
    return a->kind == SPACE_CHOICE ? a->nchoice : 0;
}

/* Best first; failed ones, and then later ones, last. */
static int by_score(const void *a, const void *b)
{
    const struct tpe_trial *x = *(const struct tpe_trial *const *)a;
    const struct tpe_trial *y = *(const struct tpe_trial *const *)b;
    double p = isnan(x->score) ? -HUGE_VAL : x->score;
    double q = isnan(y->score) ? -HUGE_VAL : y->score;

    if (p != q)
        return p < q ? 1 : -1;
    return x < y ? -1 : x > y;
}

void tpe_propose(const struct space *s, const struct tpe_trial *trial, int n,
                 uint64_t seed, int number, double *position)
{
    struct draws d = {seed, (uint64_t)number, 0};
    double *ptr = xcalloc((size_t)n + 1, sizeof(*ptr));
    const struct tpe_trial **order = xcalloc((size_t)n + 1, sizeof(*order));

    for (int i = 0; i < n; i++)
        order[i] = &trial[i];
    qsort(order, (size_t)n, sizeof(*order), by_score);
    for (int a = 0; a < s->n; a++) {
        int choices = choices_of(&s->axis[a]), good;

        if (n < TPE_RANDOM) {
            position[a] = draw(&d);
            continue;
        }
        good = split(order, n, a, ptr);
        position[a] = choices ? propose_choice(ptr, good, n, choices, &d)
                              : propose_number(ptr, good, n, &d);
    }
    free(order);
    free(ptr);
}
