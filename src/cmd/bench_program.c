#include "cmd/bench_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/median.h"
#include "base/say.h"
#include "cases/op_bench.h"
#include "ops/control.h"

enum { REPEATS = 20 };
#define LONG_STEP 2e-3 /* seconds; a device synchronization takes microseconds */

struct record {
    double *seconds; /* [runs][nregion] */
    int run, nregion;
};

static void record_step(const struct program *p, int step, double seconds, void *arg)
{
    struct record *r = arg;

    (void)p;
    r->seconds[(size_t)r->run * (size_t)r->nregion + (size_t)step] = seconds;
}

/* Runs the program `runs` times under trace and records the seconds of each step. */
static void trace_steps(struct program *p, int runs, struct record *r)
{
    program_trace(p, record_step, r);
    for (r->run = 0; r->run < runs; r->run++)
        program_run(p);
    program_trace(p, NULL, NULL);
}

/* Returns the mean seconds of `times` consecutive runs of step i. */
static double repeat_step(struct program *p, int i, int times)
{
    double began = clock_now();

    for (int k = 0; k < times; k++)
        p->step[i].kernel->run(&p->step[i], p->device);
    p->backend->sync(p->device);
    return (clock_now() - began) / times;
}

/*
 * Copies the control tensor without its overflow flags, to be restored before each step.
 * Repeated in-place sums soon overflow, and an optimizer step would then be skipped.
 */
static void save_control(const struct program *p, struct control *c)
{
    if (program_need(p, MEMORY_CONTROL) < sizeof(*c))
        return;
    p->backend->copy_out(p->device, c, p->base[MEMORY_CONTROL], sizeof(*c));
    c->overflow = 0;
    for (int k = 0; k < CONTROL_LOSSES; k++)
        c->scalers[k].overflow = 0;
}

static void restore_control(const struct program *p, const struct control *c)
{
    if (program_need(p, MEMORY_CONTROL) >= sizeof(*c))
        p->backend->copy_in(p->device, p->base[MEMORY_CONTROL], c, sizeof(*c));
}

/* Times each step as the mean of REPEATS consecutive runs; a long step runs once. */
static void repeat_steps(struct program *p, int runs, struct record *r)
{
    struct control c;

    save_control(p, &c);
    for (int i = 0; i < p->nregion; i++) {
        int times;

        restore_control(p, &c);
        times = repeat_step(p, i, 1) < LONG_STEP ? REPEATS : 1;

        for (r->run = 0; r->run < runs; r->run++)
            record_step(p, i, repeat_step(p, i, times), r);
    }
}

void bench_program(struct program *p, int runs, struct bench_step *dst)
{
    struct record r = {.nregion = p->nregion};
    double *column = xcalloc((size_t)runs, sizeof(*column));

    r.seconds = xcalloc((size_t)runs * (size_t)p->nregion, sizeof(*r.seconds));
    program_run(p);
    if (p->backend->async) {
        p->backend->sync(p->device);
        repeat_steps(p, runs, &r);
    } else {
        trace_steps(p, runs, &r);
    }
    for (int i = 0; i < p->nregion; i++) {
        for (int k = 0; k < runs; k++)
            column[k] = r.seconds[(size_t)k * (size_t)p->nregion + (size_t)i];
        dst[i] = (struct bench_step){.flops = op_region_flops(p->region[i]),
                                     .bytes = op_region_bytes(p->region[i]),
                                     .seconds = median(column, runs)};
    }
    free(r.seconds);
    free(column);
}

/* Returns the median seconds of packing the weights, which no step of the program does. */
static double refresh_seconds(struct program *p, int runs)
{
    double *v = xcalloc((size_t)runs, sizeof(*v)), result;

    for (int i = 0; i < runs; i++) {
        double began = clock_now();

        program_refresh(p);
        if (p->backend->sync)
            p->backend->sync(p->device);
        v[i] = clock_now() - began;
    }
    result = median(v, runs);
    free(v);
    return result;
}

static void print_step(const struct region *r, const struct bench_step *s,
                       double bandwidth)
{
    say("%-28s %-24s %9.3f %9.1f %9.1f %6.0f%%", r->anchor->layer, r->kernel->name,
        s->seconds * 1e3, (double)s->flops / s->seconds * 1e-9,
        (double)s->bytes / s->seconds * 1e-9,
        100 * (double)s->bytes / s->seconds / bandwidth);
    for (int k = 0; k < r->nnode; k++)
        say("%s%s", k ? " + " : "  ", node_title(r->node[k]));
    say("\n");
}

/* Prints one line per kernel, in the order of first use. */
static void print_kernels(const struct program *p, const struct bench_step *s,
                          double bandwidth)
{
    double all = 0;

    for (int i = 0; i < p->nregion; i++)
        all += s[i].seconds;
    say("\n%-28s %5s %9s %6s %9s %9s %7s\n", "kernel", "calls", "ms", "share", "GFLOP/s",
        "GB/s", "of copy");
    for (int i = 0; i < p->nregion; i++) {
        const struct kernel *k = p->region[i]->kernel;
        struct bench_step sum = {0};
        int count = 0;
        bool seen = false;

        for (int j = 0; j < p->nregion; j++) {
            if (p->region[j]->kernel != k)
                continue;
            seen |= j < i;
            sum.flops += s[j].flops;
            sum.bytes += s[j].bytes;
            sum.seconds += s[j].seconds;
            count++;
        }
        if (!seen)
            say("%-28s %5d %9.3f %5.1f%% %9.1f %9.1f %6.0f%%\n", k->name, count,
                sum.seconds * 1e3, 100 * sum.seconds / all,
                (double)sum.flops / sum.seconds * 1e-9,
                (double)sum.bytes / sum.seconds * 1e-9,
                100 * (double)sum.bytes / sum.seconds / bandwidth);
    }
    say("%-28s %5d %9.3f\n", "all kernels", p->nregion, all * 1e3);
}

void bench_program_print(struct program *p, int runs, double bandwidth)
{
    struct bench_step *s = xcalloc((size_t)p->nregion + 1, sizeof(*s));

    bench_program(p, runs, s);
    say("%-28s %-24s %9s %9s %9s %7s  %s\n", "layer", "kernel", "ms", "GFLOP/s", "GB/s",
        "of copy", "ops");
    for (int i = 0; i < p->nregion; i++)
        print_step(p->region[i], &s[i], bandwidth);
    print_kernels(p, s, bandwidth);
    say("%-28s %5d %9.3f\n", "packing weights", p->nderived,
        refresh_seconds(p, runs) * 1e3);
    free(s);
}
