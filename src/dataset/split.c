/* Assigns samples to bins: see dataset/split.h. */
#include "dataset/split.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

struct group {
    uint64_t key;
    int64_t first, n; /* range of splitter.order */
};

struct splitter {
    const struct split_samples *s;
    const double *share;
    int nbin, nstratum;
    int64_t *order; /* samples, sorted by group */
    struct group *group;
    int64_t ngroup;
    int64_t *size;   /* [nstratum]: number of samples */
    int64_t *groups; /* [nstratum]: number of unplaced groups with samples of it */
    int64_t *fill;   /* [nbin][nstratum]: number of placed samples */
    int64_t *total;  /* [nbin] */
    int64_t *part;   /* [nstratum]: samples of the current group; otherwise 0 */
    int32_t *list;   /* strata of the current group */
    int nlist;
};

static int stratum_of(const struct splitter *p, int64_t i)
{
    return p->s->stratum ? p->s->stratum[i] : 0;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_group(const void *a, const void *b, void *arg)
{
    const struct split_samples *s = arg;
    int64_t i = *(const int64_t *)a, j = *(const int64_t *)b;
    int order = s->group ? compare(s->group[i], s->group[j]) : 0;

    return order ? order : (i > j) - (i < j);
}

static int largest_first(const void *a, const void *b)
{
    const struct group *g = a, *h = b;
    int order = (g->n < h->n) - (g->n > h->n);

    if (!order)
        order = compare(g->key, h->key);
    return order ? order : (g->first > h->first) - (g->first < h->first);
}

static void find_groups(struct splitter *p)
{
    const struct split_samples *s = p->s;

    for (int64_t i = 0; i < s->n; i++)
        p->order[i] = i;
    if (s->group)
        qsort_r(p->order, (size_t)s->n, sizeof(*p->order), by_group,
                (void *)(uintptr_t)s);
    for (int64_t k = 0; k < s->n; k++) {
        int64_t i = p->order[k];
        bool more = k && s->group && s->group[i] == s->group[p->order[k - 1]];

        if (!more)
            p->group[p->ngroup++] = (struct group){s->key[i], k, 0};
        p->group[p->ngroup - 1].n++;
        /* The smallest key, so that the order of samples does not matter. */
        if (s->key[i] < p->group[p->ngroup - 1].key)
            p->group[p->ngroup - 1].key = s->key[i];
    }
    qsort(p->group, (size_t)p->ngroup, sizeof(*p->group), largest_first);
}

/* Counts the current group's samples per stratum in p->part. */
static void load_group(struct splitter *p, const struct group *g)
{
    p->nlist = 0;
    for (int64_t k = g->first; k < g->first + g->n; k++) {
        int c = stratum_of(p, p->order[k]);

        if (!p->part[c]++)
            p->list[p->nlist++] = c;
    }
}

static void unload_group(struct splitter *p)
{
    for (int k = 0; k < p->nlist; k++)
        p->part[p->list[k]] = 0;
}

/* True if no more groups of stratum c remain than there are bins without it. */
static bool is_scarce(const struct splitter *p, int c)
{
    int empty = 0;

    for (int b = 0; b < p->nbin; b++)
        empty += !p->fill[(int64_t)b * p->nstratum + c];
    return empty && p->groups[c] <= empty;
}

static double cost(const struct splitter *p, int b)
{
    double sum = 0;

    for (int k = 0; k < p->nlist; k++) {
        int c = p->list[k];
        double part = (double)p->part[c];
        int64_t fill = p->fill[(int64_t)b * p->nstratum + c];

        sum += part * ((double)fill + part / 2) / (p->share[b] * (double)p->size[c]);
    }
    return sum;
}

/* Returns the bin for the loaded group; ties go to the emptiest bin. `scarce`: a stratum
 * that only bins without it may receive, or -1. */
static int choose(const struct splitter *p, int scarce)
{
    int best = -1;
    double least = 0, least_total = 0;

    for (int b = 0; b < p->nbin; b++) {
        double sum = cost(p, b), total = (double)p->total[b] / p->share[b];

        if (scarce >= 0 && p->fill[(int64_t)b * p->nstratum + scarce])
            continue;
        if (best < 0 || sum < least || (sum <= least && total < least_total)) {
            best = b;
            least = sum;
            least_total = total;
        }
    }
    return best;
}

static void place(struct splitter *p, const struct group *g, uint8_t *bin)
{
    int scarce = -1, b;

    load_group(p, g);
    for (int k = 0; k < p->nlist && scarce < 0; k++)
        if (is_scarce(p, p->list[k]))
            scarce = p->list[k];
    b = choose(p, scarce);
    for (int k = 0; k < p->nlist; k++) {
        int c = p->list[k];

        p->fill[(int64_t)b * p->nstratum + c] += p->part[c];
        p->groups[c]--;
    }
    p->total[b] += g->n;
    for (int64_t k = g->first; k < g->first + g->n; k++)
        bin[p->order[k]] = (uint8_t)b;
    unload_group(p);
}

static void count(struct splitter *p)
{
    for (int64_t k = 0; k < p->ngroup; k++) {
        load_group(p, &p->group[k]);
        for (int j = 0; j < p->nlist; j++) {
            p->size[p->list[j]] += p->part[p->list[j]];
            p->groups[p->list[j]]++;
        }
        unload_group(p);
    }
    /* A stratum with fewer groups than bins cannot reach all bins, so no group is
     * reserved. */
    for (int c = 0; c < p->nstratum; c++)
        if (p->groups[c] < p->nbin)
            p->groups[c] = INT64_MAX;
}

void split_assign(const struct split_samples *s, const double *share, int nbin,
                  uint8_t *bin)
{
    size_t n = (size_t)s->n + 1, nstratum = s->stratum ? (size_t)s->nstratum : 1;
    struct splitter p = {.s = s, .share = share, .nbin = nbin, .nstratum = (int)nstratum};

    if (nbin < 1 || nbin > SPLIT_MAX_BINS)
        BUG("%d bins", nbin);
    p.order = xcalloc(n, sizeof(*p.order));
    p.group = xcalloc(n, sizeof(*p.group));
    p.size = xcalloc(nstratum, sizeof(*p.size));
    p.groups = xcalloc(nstratum, sizeof(*p.groups));
    p.fill = xcalloc(nstratum * (size_t)nbin, sizeof(*p.fill));
    p.total = xcalloc((size_t)nbin, sizeof(*p.total));
    p.part = xcalloc(nstratum, sizeof(*p.part));
    p.list = xcalloc(nstratum, sizeof(*p.list));
    find_groups(&p);
    count(&p);
    for (int64_t k = 0; k < p.ngroup; k++)
        place(&p, &p.group[k], bin);
    free(p.order);
    free(p.group);
    free(p.size);
    free(p.groups);
    free(p.fill);
    free(p.total);
    free(p.part);
    free(p.list);
}
