#include "cmd/bench_ops.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "cmd/bench_copy.h"
#include "cmd/bench_program.h"
#include "io/json.h"
#include "ops/case_run.h"

/* Rows are made for a CPU; a GPU holds some of them in its second-level cache. */
enum { OPS_RUNS = 15, GPU_BATCH = 16 };
static const double good = 0.85;

/* Eight operations a byte are too few for any device to be busy with. */
static bool only_moves(const struct bench_step *s)
{
    return (double)s->flops <= 8 * (double)s->bytes;
}

struct table {
    const struct backend *backend;
    struct device *dev;
    double copy; /* bytes a second */
    struct json_writer *json;
    int moves, below; /* kernels that only move memory; of them under the mark */
};

static void print_step(const char *row, enum dtype d, const struct region *r,
                       const struct bench_step *s, double of_copy)
{
    printf("%-24s %-5s %-26s %9.4f %9.1f %9.1f %6.0f%%%s ", row, dtype_name(d),
           r->kernel->name, s->seconds * 1e3, (double)s->flops / s->seconds * 1e-9,
           (double)s->bytes / s->seconds * 1e-9, 100 * of_copy,
           only_moves(s) && of_copy < good ? " *" : "  ");
    for (int k = 0; k < r->nnode; k++)
        printf(" %s", r->node[k]->op->name);
    putchar('\n');
}

static void put_step(struct json_writer *w, const char *row, enum dtype d,
                     const struct region *r, const struct bench_step *s, double of_copy)
{
    json_begin_object(w, NULL);
    json_put_string(w, "row", row);
    json_put_string(w, "dtype", dtype_name(d));
    json_put_string(w, "kernel", r->kernel->name);
    json_begin_array(w, "ops");
    for (int k = 0; k < r->nnode; k++)
        json_put_string(w, NULL, r->node[k]->op->name);
    json_end(w);
    json_put_double(w, "ms", s->seconds * 1e3);
    json_put_int(w, "bytes", (int64_t)s->bytes);
    json_put_int(w, "flops", s->flops);
    json_put_double(w, "of_copy", of_copy);
    json_end(w);
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
        double of_copy = (double)s[i].bytes / s[i].seconds / t->copy;

        t->moves += only_moves(&s[i]);
        t->below += only_moves(&s[i]) && of_copy < good;
        print_step(row->name, o->dtype, run.program->region[i], &s[i], of_copy);
        if (t->json)
            put_step(t->json, row->name, o->dtype, run.program->region[i], &s[i],
                     of_copy);
    }
    free(s);
    case_run_release(&run);
}

static void bench_rows(struct table *t, const struct bench_ops *o)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};

    printf("%-24s %-5s %-26s %9s %9s %9s %7s    %s\n", "row", "dtype", "kernel", "ms",
           "GFLOP/s", "GB/s", "of copy", "ops");
    for (const struct op_case *row = op_cases; row->name; row++)
        for (int k = 0; k < 3; k++) {
            struct case_options c = {.bench = true, .dtype = dtypes[k]};

            c.batch = o->batch            ? o->batch
                      : t->backend->async ? row->bench.dim[0] * GPU_BATCH
                                          : 0;
            if ((!o->pattern || !fnmatch(o->pattern, row->name, 0)) &&
                t->backend->has_dtype(t->dev, dtypes[k]))
                bench_row(t, row, &c);
        }
}

void bench_ops(const struct backend *backend, struct device *dev,
               const struct bench_ops *o)
{
    struct strbuf text = STRBUF_INIT;
    struct json_writer w = json_writer(&text);
    struct table t = {.backend = backend, .dev = dev, .json = o->json ? &w : NULL};

    t.copy = bench_copy(backend, dev);
    printf("%s: %s; copy %.1f GB/s\n", backend->name, backend->describe(dev),
           t.copy * 1e-9);
    json_begin_object(&w, NULL);
    json_put_string(&w, "device", backend->describe(dev));
    json_put_double(&w, "copy_gb_per_second", t.copy * 1e-9);
    json_begin_array(&w, "steps");
    bench_rows(&t, o);
    json_end(&w);
    json_put_int(&w, "moves", t.moves);
    json_put_int(&w, "below_mark", t.below);
    json_end(&w);
    strbuf_addch(&text, '\n');
    printf("* under %.0f %% of a copy: %d of %d steps that only move memory\n",
           100 * good, t.below, t.moves);
    if (o->json && file_write_atomic(o->json, text.buf, text.len))
        die("cannot write '%s': %s", o->json, strerror(errno));
    strbuf_release(&text);
}
