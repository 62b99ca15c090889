/*
 * Measures a compiled program: what each step costs, and what it must at least move and
 * compute.
 */
#ifndef CMD_BENCH_PROGRAM_H
#define CMD_BENCH_PROGRAM_H

#include "graph/program.h"

/* What one run of step i of `p` must do, and how long it took. */
struct bench_step {
    int64_t flops;
    size_t bytes;   /* cases/op_bench.h */
    double seconds; /* median over the runs */
};

/*
 * Runs the whole program `runs` times under trace; `to` has p->nregion elements. On a
 * device that works beside the host each step runs many times in a row instead, as
 * waiting for one takes longer than most kernels; none is faster than its launch.
 */
void bench_program(struct program *p, int runs, struct bench_step *to);

/* The same, a line per step and sums for each kernel, against `bandwidth` (bytes/s). */
void bench_program_print(struct program *p, int runs, double bandwidth);

#endif
