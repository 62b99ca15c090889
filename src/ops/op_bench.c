#include "ops/op_bench.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "ops/batchnorm.h"

enum {
    PROBES = 3, /* of each kind of copy */
    RUNS_MIN = 9,
    RUNS_MAX = 200,
    MOVES_BYTES = 4 << 20,
    MOVES_FLOPS = 2,
    PAGE = 4096
};

/* Seconds of each run of each step: [step * RUNS_MAX + run]. */
struct timing {
    double *seconds, *copied;
    int run;
    bool probe, past; /* trying the kinds of copy: which one */
    double *kind[2];  /* what each took: [step * PROBES + run] */
    op_copy_fn *copy;
    char *to, *from;
};

/* What batch norm in training needs in its second pass. */
static size_t second_pass(const struct node *n)
{
    if (n->op == &op_batchnorm)
        return tensor_size(n->in[BATCHNORM_X]);
    if (n->op == &op_batchnorm_grad)
        return tensor_size(n->in[BATCHNORM_GRAD_X]) +
               tensor_size(n->in[BATCHNORM_GRAD_DY]);
    return 0;
}

/* State changes in place: what is written was read. */
static size_t state_read(const struct node *n)
{
    size_t sum = 0;

    for (int i = n->op->nout; i < n->nout; i++)
        sum += tensor_size(n->out[i]);
    return sum;
}

static size_t region_again(const struct region *r)
{
    size_t sum = 0;

    for (int i = 0; i < r->nnode; i++)
        sum += second_pass(r->node[i]);
    return sum;
}

size_t op_region_bytes(const struct region *r)
{
    size_t sum = region_again(r);

    for (int i = 0; i < r->nnode; i++)
        sum += state_read(r->node[i]);
    for (int i = 0; i < r->nread; i++)
        sum += tensor_room(r->read[i]);
    for (int i = 0; i < r->nwrite; i++)
        if (r->write[i]->memory != MEMORY_NONE)
            sum += tensor_room(r->write[i]);
    return sum;
}

int64_t op_region_flops(const struct region *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->nnode; i++)
        sum += r->node[i]->op->flops ? r->node[i]->op->flops(r->node[i]) : 0;
    return sum;
}

/* How many bytes a step's copy reads, in its first and in its second pass. */
static size_t copy_size(const struct region *r, size_t *again)
{
    *again = region_again(r) / 2;
    return op_region_bytes(r) / 2 - *again;
}

/* Where it begins. */
static size_t copy_at(const struct program *p, int step)
{
    size_t at = 0, again;

    for (int i = 0; i < step; i++)
        at += (copy_size(p->region[i], &again) + PAGE - 1) / PAGE * PAGE;
    return at;
}

bool op_time_moves(const struct op_time *t)
{
    return t->bytes >= MOVES_BYTES && t->flops <= MOVES_FLOPS * t->bytes;
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

/* The kind of copy that is the faster one for a step. */
static bool past_cache(struct timing *t, int step)
{
    return t->probe ? t->past
                    : t->kind[true][step * PROBES + PROBES / 2] <
                          t->kind[false][step * PROBES + PROBES / 2];
}

static void note_step(const struct program *p, int step, double seconds, void *arg)
{
    struct timing *t = arg;
    size_t again, size = copy_size(p->region[step], &again), at = copy_at(p, step);
    bool past;
    double began, *copied;

    if (!t->probe)
        t->seconds[step * RUNS_MAX + t->run] = seconds;
    if (!t->copy)
        return;
    past = past_cache(t, step);
    copied = t->probe ? &t->kind[past][step * PROBES] : &t->copied[step * RUNS_MAX];
    began = clock_now();
    t->copy(p->device, t->to + at, t->from + at, size, past);
    at += (size - again) / 64 * 64;
    if (again)
        t->copy(p->device, t->to + at, t->from + at, again, past);
    p->backend->sync(p->device);
    copied[t->run] = clock_now() - began;
}

static struct op_time describe(const struct op_case *row, const struct program *p, int i,
                               struct timing *t)
{
    return (struct op_time){
        .row = row,
        .region = p->region[i],
        .seconds = median(t->seconds + (ptrdiff_t)i * RUNS_MAX, t->run),
        .copy_seconds = t->copy ? median(t->copied + (ptrdiff_t)i * RUNS_MAX, t->run) : 0,
        .bytes = (double)op_region_bytes(p->region[i]),
        .flops = (double)op_region_flops(p->region[i]),
    };
}

static void timing_init(struct timing *t, const struct program *p, op_copy_fn *copy)
{
    size_t steps = (size_t)p->nregion + 1, size = copy_at(p, p->nregion) + 1;

    t->seconds = xcalloc(steps * RUNS_MAX, sizeof(double));
    t->copied = xcalloc(steps * RUNS_MAX, sizeof(double));
    for (int i = 0; i < 2; i++)
        t->kind[i] = xcalloc(steps * PROBES, sizeof(double));
    t->copy = copy;
    t->from = copy ? p->backend->alloc(p->device, size) : NULL;
    t->to = copy ? p->backend->alloc(p->device, size) : NULL;
    if (copy)
        for (int i = 0; i < 2; i++) { /* first touch, and the loops' first use */
            copy(p->device, t->to, t->from, size, false);
            copy(p->device, t->from, t->to, size, true);
        }
}

static void timing_release(struct timing *t, const struct program *p)
{
    p->backend->free(p->device, t->from);
    p->backend->free(p->device, t->to);
    free(t->seconds);
    free(t->copied);
    for (int i = 0; i < 2; i++)
        free(t->kind[i]);
}

/*
 * Which kind of copy is the faster one for each step. A kind stays for some runs: a copy
 * through the cache leaves lines there that the next step has to wait for.
 */
static void probe_copies(struct timing *t, struct program *p)
{
    t->probe = true;
    for (int kind = 0; kind < 2; kind++) {
        t->past = kind;
        for (t->run = 0; t->run < PROBES; t->run++)
            program_run(p);
    }
    for (int i = 0; i < p->nregion; i++)
        for (int kind = 0; kind < 2; kind++)
            (void)median(t->kind[kind] + (ptrdiff_t)i * PROBES, PROBES); /* sorts */
    t->probe = false;
    t->run = 0;
}

void op_bench(const struct op_case *row, const struct backend *backend,
              struct device *dev, const struct case_options *o, double budget,
              op_copy_fn *copy, void (*fn)(const struct op_time *t, void *arg), void *arg)
{
    struct case_run r;
    struct timing timing = {0};
    double began;

    case_run_init(&r, row, backend, dev, o);
    timing_init(&timing, r.program, copy);
    program_run(r.program); /* first touch */
    program_trace(r.program, note_step, &timing);
    if (copy)
        probe_copies(&timing, r.program);
    began = clock_now();
    while (timing.run < RUNS_MIN ||
           (timing.run < RUNS_MAX && clock_now() - began < budget)) {
        program_run(r.program);
        timing.run++;
    }
    program_trace(r.program, NULL, NULL);
    for (int i = 0; i < r.program->nregion; i++) {
        struct op_time t = describe(row, r.program, i, &timing);

        fn(&t, arg);
    }
    timing_release(&timing, r.program);
    case_run_release(&r);
}
