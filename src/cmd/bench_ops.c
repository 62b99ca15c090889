#include "cmd/bench_ops.h"

#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/say.h"
#include "cases/case_run.h"
#include "cases/op_bench.h"
#include "cmd/bench_copy.h"
#include "cmd/bench_program.h"
#include "io/json.h"
#include "io/written.h"

/* The table's sizes suit a CPU; a GPU holds some of them in its L2 cache. */
enum { OPS_RUNS = 15, GPU_BATCH = 16, GPU_MOVES_MIB = 128 };

/* Required fraction of copy speed: on a GPU, and where bare loops are timed. */
static const double good_gpu = 0.85, good_bare = 0.8, bare_seconds = 0.25;

/*
 * True if the step is memory-bound: at most eight operations per byte, and twice the size
 * of the largest GPU's L2 cache. A smaller step comes from the cache and ends within 30
 * microseconds, which includes its launch.
 */
static bool only_moves(const struct bench_step *s)
{
    return (double)s->flops <= 8 * (double)s->bytes && s->bytes >= (size_t)GPU_MOVES_MIB
                                                                       << 20;
}

/*
 * Bytes per second of a large copy. On a GPU it is measured once. On a CPU, whose memory
 * is shared with other processes, it is measured before and after each row, and the
 * faster one counts.
 */
struct copy {
    double before, after; /* after: 0 until measured */
};

struct table {
    const struct backend *backend;
    struct device *dev;
    struct copy copy;
    double good; /* required fraction of copy speed */
    enum dtype dtype;
    struct json_writer *json;
    int moves, below; /* memory-bound kernel calls; those below `good` */
};

/* Speed relative to a copy and to the bare loop of op_bench.h; 0 if not measured. */
struct shares {
    double of_copy, of_bare;
};

static void print_step(const struct table *t, const char *row, const struct region *r,
                       const struct bench_step *s, const struct shares *share, bool below)
{
    say("%-24s %-5s %-26s %9.4f %9.1f %9.1f %6.0f%%%s ", row, dtype_name(t->dtype),
        r->kernel->name, s->seconds * 1e3, (double)s->flops / s->seconds * 1e-9,
        (double)s->bytes / s->seconds * 1e-9, 100 * share->of_copy, below ? " *" : "  ");
    if (share->of_bare > 0)
        say("%6.0f%%  ", 100 * share->of_bare);
    for (int k = 0; k < r->nnode; k++)
        say(" %s", node_title(r->node[k]));
    say("\n");
    (void)fflush(stdout);
}

static void put_step(struct json_writer *w, const char *row, enum dtype d,
                     const struct region *r, const struct bench_step *s,
                     const struct shares *share, bool moves)
{
    json_begin_object(w, NULL);
    json_put_string(w, "row", row);
    json_put_string(w, "dtype", dtype_name(d));
    json_put_string(w, "kernel", r->kernel->name);
    json_begin_array(w, "ops");
    for (int k = 0; k < r->nnode; k++)
        json_put_string(w, NULL, node_title(r->node[k]));
    json_end(w);
    json_put_double(w, "ms", s->seconds * 1e3);
    json_put_int(w, "bytes", (int64_t)s->bytes);
    json_put_int(w, "flops", s->flops);
    json_put_bool(w, "moves", moves);
    json_put_double(w, "of_copy", share->of_copy);
    if (share->of_bare > 0)
        json_put_double(w, "of_bare", share->of_bare);
    json_end(w);
}

static void add_step(struct table *t, const char *row, const struct region *r,
                     const struct bench_step *s, const struct shares *share, bool moves)
{
    bool below = moves && share->of_copy < t->good;

    t->moves += moves;
    t->below += below;
    print_step(t, row, r, s, share, below);
    put_step(t->json, row, t->dtype, r, s, share, moves);
}

static void bench_row(struct table *t, const struct op_case *row,
                      const struct case_options *o)
{
    struct bench_step *s;
    struct case_run run;

    case_run_init(&run, row, t->backend, t->dev, o);
    s = xcalloc((size_t)run.program->nregion + 1, sizeof(*s));
    bench_program(run.program, OPS_RUNS, s);
    for (int i = 0; i < run.program->nregion; i++) {
        struct shares share = {(double)s[i].bytes / s[i].seconds / t->copy.before, 0};

        add_step(t, row->name, run.program->region[i], &s[i], &share, only_moves(&s[i]));
    }
    free(s);
    case_run_release(&run);
}

static void add_bare_step(const struct op_time *o, void *arg)
{
    struct table *t = arg;
    struct bench_step s = {
        .flops = (int64_t)o->flops, .bytes = (size_t)o->bytes, .seconds = o->seconds};
    struct shares share = {.of_bare = o->bare_seconds / o->seconds};

    if (!(t->copy.after > 0))
        t->copy.after = t->backend->moves->bandwidth(t->dev);
    share.of_copy = o->bytes / o->seconds / fmax(t->copy.before, t->copy.after);
    add_step(t, o->row->name, o->region, &s, &share, op_time_moves(o));
}

/* Times a row, alternating with bare loops that load and store the same bytes. */
static void bench_bare_row(struct table *t, const struct op_case *row,
                           const struct case_options *o)
{
    op_bench(row, t->backend, t->dev, o, bare_seconds, add_bare_step, t);
    if (t->copy.after > 0)
        t->copy = (struct copy){.before = t->copy.after};
}

/* True if the row matches the pattern. Rows without a benchmark, or for several processes,
 * are not timed. */
static bool selects(const char *pattern, const struct op_case *row)
{
    if (!row->bench.dim[0] || row->norms || row->batch)
        return false;
    return !pattern || !fnmatch(pattern, row->name, 0);
}

bool bench_ops_match(const char *pattern)
{
    const struct op_case *row;
    int n = 0;

    for (int i = 0; (row = op_case_at(i)); i++)
        n += selects(pattern, row);
    return n > 0;
}

static void bench_rows(struct table *t, const struct bench_ops *o)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};

    const struct op_case *row;
    bool bare = t->backend->moves != NULL;

    say("%-24s %-5s %-26s %9s %9s %9s %7s    %s%s\n", "row", "dtype", "kernel", "ms",
        "GFLOP/s", "GB/s", "of copy", bare ? "of bare  " : "", "ops");
    for (int i = 0; (row = op_case_at(i)); i++)
        for (int k = 0; k < 3; k++) {
            struct case_options c = {.bench = true, .dtype = dtypes[k]};

            c.batch = o->batch            ? o->batch
                      : t->backend->async ? row->bench.dim[0] * GPU_BATCH
                                          : 0;
            if (!selects(o->pattern, row) || !t->backend->has_dtype(t->dev, dtypes[k]))
                continue;
            t->dtype = dtypes[k];
            (bare ? bench_bare_row : bench_row)(t, row, &c);
        }
}

void bench_ops(const struct backend *backend, struct device *dev,
               const struct bench_ops *o)
{
    struct json_writer w = json_writer(o->json);
    struct table t = {.backend = backend, .dev = dev, .json = &w};

    t.copy.before = bench_copy(backend, dev);
    t.good = backend->moves ? good_bare : good_gpu;
    say("%s: %s; copy %.1f GB/s\n", backend->name, backend->describe(dev),
        t.copy.before * 1e-9);
    written_begin(&w);
    json_put_string(&w, "device", backend->describe(dev));
    json_put_double(&w, "copy_gb_per_second", t.copy.before * 1e-9);
    json_begin_array(&w, "steps");
    bench_rows(&t, o);
    json_end(&w);
    json_put_int(&w, "moves", t.moves);
    json_put_int(&w, "below_mark", t.below);
    json_end(&w);
    strbuf_addch(o->json, '\n');
    say("* below %.0f %% of copy speed: %d of %d memory-bound calls\n", 100 * t.good,
        t.below, t.moves);
}
