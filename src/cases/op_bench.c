#include "cases/op_bench.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/median.h"
#include "ops/batchnorm.h"

enum {
    PROBES = 3, /* of each kind of copy */
    RUNS_MIN = 9,
    RUNS_MAX = 200,
    MOVES_BYTES = 4 << 20,
    MOVES_FLOPS = 2,
    PAGE = 4096
};

/* Bytes that a step reads in its first pass, reads again, and writes. */
struct traffic {
    size_t read, again, written;
};

/* Loads and stores the bytes of a step; `begin` and `end` bound parts of shared memory. */
struct bare {
    struct traffic bytes;
    size_t begin, end;
};

/* Seconds of each run of each step: [step * RUNS_MAX + run]. */
struct timing {
    double *seconds, *bare_seconds;
    int run;
    bool probe, streamed; /* probing the kinds of stores; non-temporal stores */
    double *kind[2];      /* seconds of each kind: [step * PROBES + run] */
    const struct backend_moves *moves;
    struct bare *bare; /* of each step */
    char *dst, *src;
};

/* Returns the bytes of batch norm's second pass in training. */
static size_t second_pass(const struct node *n)
{
    if (n->op == &op_batchnorm)
        return tensor_size(n->in[BATCHNORM_X]);
    if (n->op == &op_batchnorm_grad)
        return tensor_size(n->in[BATCHNORM_GRAD_X]) +
               tensor_size(n->in[BATCHNORM_GRAD_DY]);
    return 0;
}

/* State is modified in place: what is written was read. */
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

static struct traffic region_traffic(const struct region *r)
{
    struct traffic b = {.again = region_again(r)};

    for (int i = 0; i < r->nnode; i++)
        b.read += state_read(r->node[i]);
    for (int i = 0; i < r->nread; i++)
        b.read += tensor_room(r->read[i]);
    for (int i = 0; i < r->nwrite; i++)
        if (r->write[i]->memory != MEMORY_NONE)
            b.written += tensor_room(r->write[i]);
    return b;
}

size_t op_region_bytes(const struct region *r)
{
    struct traffic b = region_traffic(r);

    return b.read + b.again + b.written;
}

int64_t op_region_flops(const struct region *r)
{
    int64_t sum = 0;

    for (int i = 0; i < r->nnode; i++)
        sum += r->node[i]->op->flops ? r->node[i]->op->flops(r->node[i]) : 0;
    return sum;
}

bool op_time_moves(const struct op_time *t)
{
    return t->bytes >= MOVES_BYTES && t->flops <= MOVES_FLOPS * t->bytes;
}

static void run_bare(const struct timing *t, const struct program *p, int step,
                     bool streamed)
{
    const struct bare *bare = &t->bare[step];
    struct traffic b = bare->bytes;
    size_t both = (b.read < b.written ? b.read : b.written) / 64 * 64;
    const char *src = t->src + bare->begin;
    char *dst = t->dst + bare->end;

    if (b.again)
        t->moves->read(p->device, src, b.again < b.read ? b.again : b.read);
    if (both)
        t->moves->copy(p->device, dst, src, both, streamed);
    if (b.read > both)
        t->moves->read(p->device, src + both, b.read - both);
    if (b.written > both)
        t->moves->fill(p->device, dst + both, b.written - both, streamed);
    p->backend->sync(p->device);
}

/* True if non-temporal stores are faster for a step's bare loop. */
static bool streams_stores(const struct timing *t, int step)
{
    return t->probe ? t->streamed
                    : t->kind[true][step * PROBES + PROBES / 2] <
                          t->kind[false][step * PROBES + PROBES / 2];
}

static void note_step(const struct program *p, int step, double seconds, void *arg)
{
    struct timing *t = arg;
    bool streamed;
    double began, *took;

    if (!t->probe)
        t->seconds[step * RUNS_MAX + t->run] = seconds;
    if (!t->moves)
        return;
    streamed = streams_stores(t, step);
    took =
        t->probe ? &t->kind[streamed][step * PROBES] : &t->bare_seconds[step * RUNS_MAX];
    began = clock_now();
    run_bare(t, p, step, streamed);
    took[t->run] = clock_now() - began;
}

static struct op_time describe(const struct op_case *row, const struct program *p, int i,
                               struct timing *t)
{
    return (struct op_time){
        .row = row,
        .region = p->region[i],
        .seconds = median(t->seconds + (ptrdiff_t)i * RUNS_MAX, t->run),
        .bare_seconds =
            t->moves ? median(t->bare_seconds + (ptrdiff_t)i * RUNS_MAX, t->run) : 0,
        .bytes = (double)op_region_bytes(p->region[i]),
        .flops = (double)op_region_flops(p->region[i]),
    };
}

static size_t pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* Gives each step's bare loop its own memory; returns the total. */
static struct bare place_bare(struct timing *t, const struct program *p)
{
    struct bare bare = {{0}, 0, 0};

    for (int i = 0; i < p->nregion; i++) {
        bare.bytes = region_traffic(p->region[i]);
        t->bare[i] = bare;
        bare.begin += pages(bare.bytes.read);
        bare.end += pages(bare.bytes.written);
    }
    return bare;
}

static void timing_init(struct timing *t, const struct program *p)
{
    const struct backend_moves *moves = p->backend->moves;
    size_t steps = (size_t)p->nregion + 1;
    struct bare all;

    t->seconds = xcalloc(steps * RUNS_MAX, sizeof(double));
    t->bare_seconds = xcalloc(steps * RUNS_MAX, sizeof(double));
    for (int i = 0; i < 2; i++)
        t->kind[i] = xcalloc(steps * PROBES, sizeof(double));
    t->moves = moves;
    if (!moves)
        return;
    t->bare = xcalloc(steps, sizeof(*t->bare));
    all = place_bare(t, p);
    t->src = p->backend->alloc(p->device, all.begin + 1);
    t->dst = p->backend->alloc(p->device, all.end + 1);
    for (int streamed = 0; streamed < 2; streamed++) { /* touches all pages */
        moves->fill(p->device, t->src, all.begin, streamed);
        moves->fill(p->device, t->dst, all.end, streamed);
    }
}

static void timing_release(struct timing *t, const struct program *p)
{
    p->backend->free(p->device, t->src);
    p->backend->free(p->device, t->dst);
    free(t->seconds);
    free(t->bare_seconds);
    free(t->bare);
    for (int i = 0; i < 2; i++)
        free(t->kind[i]);
}

/*
 * Finds the faster kind of stores for each step. Each kind runs several times, because
 * ordinary stores leave dirty cache lines, for which the next step must wait.
 */
static void probe_stores(struct timing *t, struct program *p)
{
    t->probe = true;
    for (int kind = 0; kind < 2; kind++) {
        t->streamed = kind;
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
              void (*fn)(const struct op_time *t, void *arg), void *arg)
{
    struct case_run r;
    struct timing timing = {0};
    double began;

    case_run_init(&r, row, backend, dev, o);
    timing_init(&timing, r.program);
    program_run(r.program); /* first touch */
    program_trace(r.program, note_step, &timing);
    if (timing.moves)
        probe_stores(&timing, r.program);
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
