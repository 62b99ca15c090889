#include "cmd/bench_convs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/median.h"
#include "base/say.h"
#include "cases/op_bench.h"
#include "cpu/backend.h"
#include "cpu/kernels.h"

static bool own_conv(const struct kernel *k)
{
    for (int i = 0; cpu_own_convs[i]; i++)
        if (cpu_own_convs[i] == k)
            return true;
    return false;
}

/* Returns a copy of the backend without our own convolutions; the caller frees its list of
 * kernels, *kernel. */
static struct backend library_only(const struct backend *src,
                                   const struct kernel ***kernel)
{
    struct backend b = *src;
    int n = 0;

    while (src->kernels[n])
        n++;
    *kernel = xcalloc((size_t)n + 1, sizeof(**kernel));
    n = 0;
    for (int i = 0; src->kernels[i]; i++)
        if (!own_conv(src->kernels[i]))
            (*kernel)[n++] = src->kernels[i];
    b.kernels = *kernel;
    return b;
}

/* ---- a convolution in both programs ---- */

enum { NODES = 8, TIMES = 3 };

/*
 * library, own: the step of the library's convolution and of our own, or -1.
 * more: the library's steps for the other ops that our own kernel fuses, such as a pool;
 * -1 ends the list.
 * seconds: times of library, own, and more in each round.
 */
struct pair {
    int library, ours, more[NODES];
    double *seconds[TIMES];
};

enum { LIBRARY, OURS }; /* the sides */

/* n: the convolution that the library runs in `step`. ours: NULL if the backend has no
 * convolutions of our own. */
static struct pair pair_new(struct conv_time *c, const struct bench_side *library,
                            int step, const struct node *n, const struct bench_side *ours,
                            int runs)
{
    int offset = ours ? bench_side_step(ours, n) : -1, nmore = 0;
    struct pair p = {.library = step, .ours = -1};

    *c = (struct conv_time){.layer = xstrdup(n->layer),
                            .direction = bench_direction(n),
                            .flops = op_region_flops(library->program->region[step])};
    if (offset >= 0 && own_conv(ours->program->region[offset]->kernel)) {
        const struct region *r = ours->program->region[offset];

        p.ours = offset;
        c->kernel = r->kernel->name;
        for (int i = 0; i < r->nnode && nmore < NODES - 1; i++) {
            int other = bench_side_step(library, r->node[i]);

            if (other >= 0 && other != step && (!nmore || p.more[nmore - 1] != other))
                p.more[nmore++] = other;
        }
    }
    p.more[nmore] = -1;
    for (int k = 0; k < TIMES; k++)
        p.seconds[k] = xcalloc((size_t)runs, sizeof(double));
    return p;
}

static void run_pair(struct pair *p, const struct bench_side side[2], int run)
{
    p->seconds[0][run] = bench_side_run(&side[LIBRARY], p->library);
    if (p->ours < 0)
        return;
    p->seconds[1][run] = bench_side_run(&side[OURS], p->ours);
    p->seconds[2][run] = 0;
    for (int i = 0; p->more[i] >= 0; i++)
        p->seconds[2][run] += bench_side_run(&side[LIBRARY], p->more[i]);
}

static void time_pairs(struct pair *pair, struct bench_convs *c,
                       const struct bench_side side[2], int runs)
{
    for (int i = 0; i < c->nconv; i++)
        run_pair(&pair[i], side, 0); /* warms up */
    for (int r = 0; r < runs; r++)
        for (int i = 0; i < c->nconv; i++)
            run_pair(&pair[i], side, r);
    for (int i = 0; i < c->nconv; i++) {
        c->conv[i].library = median(pair[i].seconds[0], runs);
        c->conv[i].ours = median(pair[i].seconds[1], runs);
        c->conv[i].more = median(pair[i].seconds[2], runs);
        for (int k = 0; k < TIMES; k++)
            free(pair[i].seconds[k]);
    }
}

static bool any_own(const struct backend *b)
{
    for (int i = 0; b->kernels[i]; i++)
        if (own_conv(b->kernels[i]))
            return true;
    return false;
}

struct bench_convs bench_convs(struct session *s, int runs)
{
    const struct kernel **kernel;
    struct backend backend = library_only(s->backend, &kernel);
    struct bench_side side[2];
    const struct program *library;
    struct bench_convs c = {0};
    struct pair *pair;
    int sides = any_own(s->backend) ? 2 : 1;

    bench_side_compile(&side[LIBRARY], s, &backend, BUILD_TRAIN);
    if (sides > 1)
        bench_side_compile(&side[OURS], s, s->backend, BUILD_TRAIN);
    bench_sides_bind(side, sides, s);
    library = side[LIBRARY].program;
    c.conv = xcalloc((size_t)library->nregion, sizeof(*c.conv));
    pair = xcalloc((size_t)library->nregion, sizeof(*pair));
    for (int i = 0; i < library->nregion; i++) {
        const struct node *n = bench_conv_of(library->region[i]);

        if (!n)
            continue;
        pair[c.nconv] = pair_new(&c.conv[c.nconv], &side[LIBRARY], i, n,
                                 sides > 1 ? &side[OURS] : NULL, runs);
        c.nconv++;
    }
    time_pairs(pair, &c, side, runs);
    free(pair);
    bench_sides_release(side, sides, s);
    free(kernel);
    return c;
}

void bench_convs_release(struct bench_convs *c)
{
    for (int i = 0; i < c->nconv; i++)
        free(c->conv[i].layer);
    free(c->conv);
}

double bench_convs_library(const struct bench_convs *c)
{
    double all = 0;

    for (int i = 0; i < c->nconv; i++)
        all += c->conv[i].library;
    return all;
}

/* ---- output ---- */

static const char *const direction_name[CONV_DIRECTIONS] = {"forward", "data gradient",
                                                            "weight gradient"};

static void print_all(const struct bench_convs *c, double step, double batch)
{
    double all = bench_convs_library(c), sum[CONV_DIRECTIONS] = {0};
    int64_t flops = 0;

    for (int i = 0; i < c->nconv; i++) {
        sum[c->conv[i].direction] += c->conv[i].library;
        flops += c->conv[i].flops;
    }
    say("convolutions only: %.1f img/s", batch / all);
    for (int j = 0; j < CONV_DIRECTIONS; j++)
        say(", %s %.1f ms", direction_name[j], sum[j] * 1e3);
    say(", %.0f GFLOP/s; the step reaches %.1f %% of that\n", (double)flops / all * 1e-9,
        100 * all / step);
}

static void print_pair(const char *layer, const char *kernel, int count,
                       const struct conv_time *c)
{
    double library = c->library + c->more;

    say("%-28s %-24s %5d %9.3f %9.1f %9.3f %9.1f %6.2f\n", layer, kernel, count,
        c->ours * 1e3, (double)c->flops / c->ours * 1e-9, library * 1e3,
        (double)c->flops / library * 1e-9, library / c->ours);
}

/* Prints one line per kernel of our own, in the order of first use. */
static void print_kernels(const struct bench_convs *c)
{
    for (int i = 0; i < c->nconv; i++) {
        struct conv_time sum = {0};
        bool seen = false;
        int count = 0;

        for (int k = 0; c->conv[i].kernel && k < c->nconv; k++) {
            if (c->conv[k].kernel != c->conv[i].kernel)
                continue;
            seen |= k < i;
            sum.flops += c->conv[k].flops;
            sum.ours += c->conv[k].ours;
            sum.library += c->conv[k].library;
            sum.more += c->conv[k].more;
            count++;
        }
        if (count && !seen)
            print_pair("all", c->conv[i].kernel, count, &sum);
    }
}

void bench_convs_print(const struct bench_convs *c, double step, double batch, bool each)
{
    int ours = 0;

    print_all(c, step, batch);
    for (int i = 0; i < c->nconv; i++)
        ours += c->conv[i].kernel != NULL;
    if (!ours)
        return;
    say("\n%-28s %-24s %5s %9s %9s %9s %9s %6s\n", "our own", "kernel", "calls", "ms",
        "GFLOP/s", "library", "GFLOP/s", "ratio");
    for (int i = 0; each && i < c->nconv; i++)
        if (c->conv[i].kernel)
            print_pair(c->conv[i].layer, c->conv[i].kernel, 1, &c->conv[i]);
    print_kernels(c);
}
