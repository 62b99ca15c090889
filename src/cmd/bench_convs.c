#include "cmd/bench_convs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/philox.h"
#include "base/say.h"
#include "cases/op_bench.h"
#include "cpu/backend.h"
#include "cpu/kernels.h"
#include "ops/conv2d.h"
#include "ops/linear.h"

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

/* ---- a program with its memory, and its convolutions ---- */

struct side {
    struct build build;
    struct program *program;
    void *base[MEMORY_COUNT];
};

/*
 * Fills memory with random values of magnitude 1 to 1.5, valid as fp32 and as bf16. The
 * kernel maps memory that was never written to one page of zeros, which stays in the
 * cache and would make the timing too fast.
 */
static void fill(struct device *dev, const struct backend *backend, char *dst,
                 size_t size)
{
    enum { WORDS = 1 << 19 };
    uint16_t *word = xcalloc(WORDS, sizeof(*word));

    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t random = philox(0, PHILOX_TEST, 0, i).v[0];

        word[i] = (uint16_t)(0x3f80 | (random & 0x803f));
    }
    for (size_t offset = 0; offset < size; offset += WORDS * sizeof(*word)) {
        size_t left = size - offset, n = WORDS * sizeof(*word);

        backend->copy_in(dev, dst + offset, word, left < n ? left : n);
    }
    if (backend->sync)
        backend->sync(dev);
    free(word);
}

static void side_init(struct side *d, struct session *s, const struct backend *backend)
{
    *d = (struct side){0};
    build_init(&d->build, &s->plan, BUILD_TRAIN, false);
    d->program = program_compile(d->build.graph, backend, s->device, NULL);
    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++) {
        size_t size = program_need(d->program, (enum memory)m);

        d->base[m] = backend->alloc(s->device, size);
        fill(s->device, backend, d->base[m], size);
    }
    program_bind(d->program, d->base);
    program_refresh(d->program);
}

static void side_release(struct side *d, const struct session *s)
{
    program_free(d->program);
    build_release(&d->build);
    for (int m = MEMORY_NONE + 1; m < MEMORY_COUNT; m++)
        s->backend->free(s->device, d->base[m]);
}

/* Returns the direction of a convolution or linear layer, or CONV_DIRECTIONS for any other
 * op. */
static enum conv_direction direction_of(const struct node *n)
{
    if (n->op == &op_conv2d || n->op == &op_linear)
        return CONV_FORWARD;
    if (n->op == &op_conv2d_data_grad || n->op == &op_linear_data_grad)
        return CONV_DATA;
    if (n->op == &op_conv2d_weight_grad || n->op == &op_linear_weight_grad)
        return CONV_WEIGHT;
    return CONV_DIRECTIONS;
}

/* Returns the convolution in region r, or NULL. */
static const struct node *conv_of(const struct region *r)
{
    for (int i = 0; i < r->nnode; i++)
        if (direction_of(r->node[i]) < CONV_DIRECTIONS)
            return r->node[i];
    return NULL;
}

/* Returns the step of p that runs the same op and layer as n (a node of another graph), or
 * -1. */
static int step_of(const struct program *p, const struct node *n)
{
    for (int i = 0; i < p->nregion; i++)
        for (int k = 0; k < p->region[i]->nnode; k++) {
            const struct node *other = p->region[i]->node[k];

            if (other->op == n->op && strcmp(other->layer, n->layer) == 0)
                return i;
        }
    return -1;
}

/* ---- times ---- */

static double run_step(struct program *p, int step)
{
    double began = clock_now();

    p->step[step].kernel->run(&p->step[step], p->device);
    if (p->backend->sync)
        p->backend->sync(p->device);
    return clock_now() - began;
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

/* n: the convolution that the library runs in `step`. own: NULL if the backend has no
 * convolutions of our own. */
static struct pair pair_new(struct conv_time *c, const struct program *library, int step,
                            const struct node *n, const struct program *ours, int runs)
{
    int offset = ours ? step_of(ours, n) : -1, nmore = 0;
    struct pair p = {.library = step, .ours = -1};

    *c = (struct conv_time){.layer = xstrdup(n->layer),
                            .direction = direction_of(n),
                            .flops = op_region_flops(library->region[step])};
    if (offset >= 0 && own_conv(ours->region[offset]->kernel)) {
        p.ours = offset;
        c->kernel = ours->region[offset]->kernel->name;
        for (int i = 0; i < ours->region[offset]->nnode && nmore < NODES - 1; i++) {
            int other = step_of(library, ours->region[offset]->node[i]);

            if (other >= 0 && other != step && (!nmore || p.more[nmore - 1] != other))
                p.more[nmore++] = other;
        }
    }
    p.more[nmore] = -1;
    for (int k = 0; k < TIMES; k++)
        p.seconds[k] = xcalloc((size_t)runs, sizeof(double));
    return p;
}

static void run_pair(struct pair *p, struct program *library, struct program *ours,
                     int run)
{
    p->seconds[0][run] = run_step(library, p->library);
    if (p->ours < 0)
        return;
    p->seconds[1][run] = run_step(ours, p->ours);
    p->seconds[2][run] = 0;
    for (int i = 0; p->more[i] >= 0; i++)
        p->seconds[2][run] += run_step(library, p->more[i]);
}

static void time_pairs(struct pair *pair, struct bench_convs *c, struct program *library,
                       struct program *ours, int runs)
{
    for (int i = 0; i < c->nconv; i++)
        run_pair(&pair[i], library, ours, 0); /* warms up */
    for (int r = 0; r < runs; r++)
        for (int i = 0; i < c->nconv; i++)
            run_pair(&pair[i], library, ours, r);
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
    struct side library, ours = {.program = NULL};
    struct bench_convs c = {0};
    struct pair *pair;

    side_init(&library, s, &backend);
    if (any_own(s->backend))
        side_init(&ours, s, s->backend);
    c.conv = xcalloc((size_t)library.program->nregion, sizeof(*c.conv));
    pair = xcalloc((size_t)library.program->nregion, sizeof(*pair));
    for (int i = 0; i < library.program->nregion; i++) {
        const struct node *n = conv_of(library.program->region[i]);

        if (!n)
            continue;
        pair[c.nconv] =
            pair_new(&c.conv[c.nconv], library.program, i, n, ours.program, runs);
        c.nconv++;
    }
    time_pairs(pair, &c, library.program, ours.program, runs);
    free(pair);
    if (ours.program)
        side_release(&ours, s);
    side_release(&library, s);
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
