#include "cmd/bench_ops.h"

#include <fnmatch.h>
#include <stdio.h>

#include "base/alloc.h"
#include "cmd/bench_program.h"
#include "ops/case_run.h"

enum { OPS_RUNS = 15 };

static void print_row(struct case_run *run, enum dtype d, double bandwidth)
{
    struct program *p = run->program;
    struct bench_step *s = xcalloc((size_t)p->nregion + 1, sizeof(*s));

    bench_program(p, OPS_RUNS, s);
    for (int i = 0; i < p->nregion; i++) {
        const struct region *r = p->region[i];
        double rate = (double)s[i].bytes / s[i].seconds;

        printf("%-24s %-5s %-22s %9.3f %9.1f %9.1f %6.0f%% ", run->row->name,
               dtype_name(d), r->kernel->name, s[i].seconds * 1e3,
               (double)s[i].flops / s[i].seconds * 1e-9, rate * 1e-9,
               100 * rate / bandwidth);
        for (int k = 0; k < r->nnode; k++)
            printf(" %s", r->node[k]->op->name);
        putchar('\n');
    }
    free(s);
}

void bench_ops(const struct backend *backend, struct device *dev, const char *pattern,
               double bandwidth)
{
    static const enum dtype dtypes[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16};

    printf("%-24s %-5s %-22s %9s %9s %9s %7s  %s\n", "row", "dtype", "kernel", "ms",
           "GFLOP/s", "GB/s", "of copy", "ops");
    for (const struct op_case *row = op_cases; row->name; row++)
        for (int k = 0; k < 3; k++) {
            struct case_options o = {.bench = true, .dtype = dtypes[k]};
            struct case_run run;

            if ((pattern && fnmatch(pattern, row->name, 0)) ||
                !backend->has_dtype(dev, dtypes[k]))
                continue;
            case_run_init(&run, row, backend, dev, &o);
            print_row(&run, dtypes[k], bandwidth);
            case_run_release(&run);
        }
}
