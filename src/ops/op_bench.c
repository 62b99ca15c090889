#include "ops/op_bench.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ops/case_run.h"

enum { RUNS_MIN = 5, RUNS_MAX = 200, COPIES = 8 };

/* Seconds of each run of each step: seconds[step * RUNS_MAX + run]. */
struct timing {
    double *seconds;
    int run;
};

static void note_step(const struct program *p, int step, double seconds, void *arg)
{
    struct timing *t = arg;

    (void)p;
    t->seconds[step * RUNS_MAX + t->run] = seconds;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof(*v), ascending);
    return v[n / 2];
}

static struct op_time describe(const struct op_case *row, const struct program *p, int i)
{
    const struct region *r = p->region[i];
    const struct step *s = &p->step[i];
    struct op_time t = {.row = row, .kernel = r->kernel, .node = r->anchor};

    t.more = r->nnode - 1;
    for (int k = 0; k < s->nin; k++)
        t.bytes += (double)tensor_size(s->in_tensor[k]);
    for (int k = 0; k < s->nout; k++)
        if (s->out[k])
            t.bytes += (double)tensor_size(s->out_tensor[k]);
    for (int k = 0; k < r->nnode; k++)
        if (r->node[k]->op->flops)
            t.flops += (double)r->node[k]->op->flops(r->node[k]);
    return t;
}

void op_bench(const struct op_case *row, const struct backend *backend,
              struct device *dev, enum dtype dtype, double budget,
              void (*fn)(const struct op_time *t, void *arg), void *arg)
{
    struct case_options o = {.bench = true, .dtype = dtype};
    struct case_run r;
    struct timing timing = {0};
    double began;

    case_run_init(&r, row, backend, dev, &o);
    timing.seconds = xcalloc((size_t)r.program->nregion * RUNS_MAX + 1, sizeof(double));
    program_run(r.program); /* first touch */
    program_trace(r.program, note_step, &timing);
    began = clock_now();
    while (timing.run < RUNS_MIN ||
           (timing.run < RUNS_MAX && clock_now() - began < budget)) {
        program_run(r.program);
        timing.run++;
    }
    for (int i = 0; i < r.program->nregion; i++) {
        struct op_time t = describe(row, r.program, i);

        t.seconds = median(timing.seconds + (ptrdiff_t)i * RUNS_MAX, timing.run);
        fn(&t, arg);
    }
    free(timing.seconds);
    case_run_release(&r);
}

double copy_bandwidth(int threads)
{
    enum { MIB = 1 << 20, EACH = 256 };
    size_t size = (size_t)EACH * MIB;
    char *from = xalloc_aligned(size), *to = xalloc_aligned(size);
    double best = 0;

    memset(from, 1, size);
    for (int i = 0; i < COPIES; i++) {
        double began = clock_now(), rate;

#pragma omp parallel num_threads(threads > 0 ? threads : omp_get_max_threads())
        {
            size_t part = size / (size_t)omp_get_num_threads() / 64 * 64;
            size_t at = part * (size_t)omp_get_thread_num();
            bool last = omp_get_thread_num() == omp_get_num_threads() - 1;

            memcpy(to + at, from + at, last ? size - at : part);
        }
        rate = 2 * (double)size / (clock_now() - began);
        best = rate > best ? rate : best;
    }
    free(from);
    free(to);
    return best;
}
