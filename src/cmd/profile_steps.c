/* trainc profile: times each step of the programs that ran. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/median.h"
#include "cases/case_build.h"
#include "cases/op_bench.h"
#include "cmd/bench_copy.h"
#include "cmd/bench_program.h"
#include "cmd/profile.h"

/* The programs of training, in the order of the tables. */
static const enum session_program programs[] = {SESSION_MICRO, SESSION_TRAIN,
                                                SESSION_TAIL};
enum { PROGRAMS = sizeof(programs) / sizeof(*programs), SEPARATE_RUNS = 3 };

/* A GEMM large enough that neither caches nor thread starts limit it. */
static const struct op_case large_gemm = {
    .name = "GEMM",
    .build = case_linear,
    .small = {.dim = {8, 8}, .out = 8},
    .bench = {.dim = {1024, 1024}, .out = 1024},
};

static void best_rate(const struct op_time *t, void *arg)
{
    double *best = arg;

    *best = fmax(*best, t->flops / t->seconds);
}

/* Returns the highest FLOP/s of the library's GEMM on this device. */
static double gemm_rate(const struct session *s)
{
    const enum dtype types[] = {DTYPE_F32, s->plan.half};
    double best = 0;

    for (int i = 0; i < (s->plan.level == AMP_O0 ? 1 : 2); i++)
        op_bench(&large_gemm, s->backend, s->device,
                 &(struct case_options){.bench = true, .dtype = types[i]}, 0.3, best_rate,
                 &best);
    return best;
}

static void find_limits(struct profile *p)
{
    const struct session *s = &p->session;

    if (s->backend->limits) {
        p->has_limits = s->backend->limits(s->device, &p->limits);
        return;
    }
    if (!s->backend->moves)
        return; /* the reference backend has no meaningful limit */
    p->limits.bandwidth = bench_copy(s->backend, s->device);
    p->limits.fp32 = gemm_rate(s);
    p->has_limits = p->measured_limits = true;
}

void profile_steps_init(struct profile *p)
{
    find_limits(p);
    for (int i = 0; i < SESSION_PROGRAMS; i++) {
        const struct program *g = p->session.program[i];

        if (g)
            p->step[i] = xcalloc((size_t)g->nregion + 1, sizeof(*p->step[i]));
    }
}

static enum session_program program_of(const struct profile *p, const struct program *g)
{
    int i = 0;

    while (p->session.program[i] != g)
        i++;
    return (enum session_program)i;
}

static void record_step(const struct program *g, int i, double seconds, void *arg)
{
    struct profile *p = arg;
    struct profile_step *s = &p->step[program_of(p, g)][i];
    double now = p->traced ? clock_now() : 0;

    GROW(s->each, s->n, s->cap);
    s->each[s->n++] = seconds;
    if (!p->traced)
        return;
    GROW(p->span, p->nspan, p->span_cap);
    p->span[p->nspan++] =
        (struct profile_span){PROFILE_STEP, g->region[i], p->updates, now - seconds, now};
}

void profile_steps_watch(struct profile *p, bool enabled)
{
    if (p->session.backend->async)
        return;
    for (int i = 0; i < PROGRAMS; i++)
        if (p->session.program[programs[i]])
            program_trace(p->session.program[programs[i]], enabled ? record_step : NULL,
                          p);
}

/* On an asynchronous device, times each step of the programs separately. */
static void time_separately(struct profile *p)
{
    const struct plan *plan = &p->session.plan;

    for (int k = 0; k < PROGRAMS; k++) {
        struct program *g = p->session.program[programs[k]];
        struct bench_step *b;

        if (!g || programs[k] == SESSION_TAIL)
            continue;
        b = xcalloc((size_t)g->nregion + 1, sizeof(*b));
        bench_program(g, SEPARATE_RUNS, b);
        for (int i = 0; i < g->nregion; i++) {
            struct profile_step *s = &p->step[programs[k]][i];

            s->seconds = b[i].seconds;
            s->per_update =
                programs[k] == SESSION_TRAIN ? 1 : plan->accumulation.group - 1;
        }
        free(b);
    }
}

static void finish_step(const struct profile *p, struct profile_step *s,
                        const struct program *g, int i)
{
    s->region = g->region[i];
    s->flops = op_region_flops(s->region);
    s->bytes = op_region_bytes(s->region);
    if (p->has_limits)
        s->floor = step_floor(s->region, &p->limits).floor;
    if (s->n) {
        s->per_update = (double)s->n / (double)p->updates;
        s->seconds = median(s->each, s->n);
    }
    free(s->each);
    s->each = NULL;
}

void profile_steps_finish(struct profile *p)
{
    double steps = 0;

    if (p->session.backend->async)
        time_separately(p);
    for (int k = 0; k < SESSION_PROGRAMS; k++)
        for (int i = 0; p->step[k] && i < p->session.program[k]->nregion; i++) {
            for (int r = 0; r < p->step[k][i].n; r++)
                steps += p->step[k][i].each[r];
            finish_step(p, &p->step[k][i], p->session.program[k], i);
        }
    p->refreshed = p->session.backend->async ? 0 : fmax(0, p->ran - steps);
}

void profile_steps_release(struct profile *p)
{
    for (int i = 0; i < SESSION_PROGRAMS; i++)
        free(p->step[i]);
}

const struct profile_step *profile_step_at(const struct profile *p, int k)
{
    for (int i = 0; i < PROGRAMS; i++) {
        const struct program *g = p->session.program[programs[i]];

        for (int r = 0; g && r < g->nregion; r++)
            if (p->step[programs[i]][r].per_update > 0 && !k--)
                return &p->step[programs[i]][r];
    }
    return NULL;
}

double profile_step_total(const struct profile_step *s)
{
    return s->seconds * s->per_update;
}

double profile_steps_sum(const struct profile *p)
{
    const struct profile_step *s;
    double sum = 0;

    for (int k = 0; (s = profile_step_at(p, k)); k++)
        sum += profile_step_total(s);
    return sum;
}

double profile_peak(const struct profile *p)
{
    const struct profile_step *s;
    double peak = NAN;

    for (int k = 0; p->has_limits && (s = profile_step_at(p, k)); k++)
        if (s->flops > 0)
            peak = fmax(peak, step_peak(s->region, &p->limits));
    return peak;
}

double profile_lost(const struct profile_step *s)
{
    return (s->seconds - s->floor) * s->per_update;
}

static int by_loss(const void *a, const void *b)
{
    const struct profile_step *x = *(const struct profile_step *const *)a;
    const struct profile_step *y = *(const struct profile_step *const *)b;
    double u = profile_lost(x), v = profile_lost(y);

    return (u < v) - (u > v);
}

int profile_worst(const struct profile *p, const struct profile_step **dst, int max)
{
    const struct profile_step *s, **all = NULL;
    int n = 0, cap = 0;

    for (int k = 0; (s = profile_step_at(p, k)); k++) {
        GROW(all, n, cap);
        all[n++] = s;
    }
    if (n)
        qsort(all, (size_t)n, sizeof(*all), by_loss);
    n = n < max ? n : max;
    if (n)
        memcpy(dst, all, (size_t)n * sizeof(*dst));
    free(all);
    return n;
}
