/*
 * Runs a row of cases/cases.h on a backend, as a separate program.
 *
 *   struct case_run r;
 *   case_run_init(&r, row, backend, dev, &(struct case_options){0});
 *   program_run(r.program);
 *   case_fetch(&r, &values); ... case_values_release(&values);
 *   case_run_release(&r);
 *
 * Values depend only on the row, so two backends see the same ones. With a 16-bit type,
 * the graph goes through precision() at level O2 or O1; the inputs can be rounded to that
 * type in the fp32 run as well, so that the two differ only by the rounding of the ops.
 */
#ifndef CASES_CASE_RUN_H
#define CASES_CASE_RUN_H

#include "cases/cases.h"
#include "graph/program.h"

struct case_options {
    bool bench;        /* the larger size */
    int64_t batch;     /* of its first input; 0: the row's */
    enum dtype dtype;  /* DTYPE_F32: level O0; 16-bit: level O2 */
    enum dtype round;  /* values are rounded to this type; DTYPE_F32: not rounded */
    bool mixed;        /* 16-bit at level O1: each op by its class */
    bool nan;          /* an element of the first input is NaN */
    bool forward_only; /* no gradients */
};

struct case_run {
    const struct op_case *row;
    const struct backend *backend;
    struct device *dev;
    struct case_options options;
    struct graph *graph;
    struct case_build build;
    struct tensor *seed; /* the gradient of build.out[0], or NULL */
    struct program *program;
    void *base[MEMORY_COUNT];
};

/* Only builds the graph; `dev` may be NULL. case_run_init also compiles it, and has memory
 * and values. */
void case_run_build(struct case_run *r, const struct op_case *row,
                    const struct backend *backend, struct device *dev,
                    const struct case_options *o);
void case_run_init(struct case_run *r, const struct op_case *row,
                   const struct backend *backend, struct device *dev,
                   const struct case_options *o);
void case_run_release(struct case_run *r);

/* One result as floats: an output, a gradient, or a whole memory of state. */
struct case_value {
    const char *name; /* lives as long as the run */
    float *v;
    int64_t n;
};

struct case_values {
    struct case_value *item;
    int n, cap;
};

/* Fetches all results, in an order that depends only on the row. */
void case_fetch(const struct case_run *r, struct case_values *dst);
void case_values_release(struct case_values *v);

#endif
