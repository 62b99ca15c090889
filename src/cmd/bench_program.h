/*
 * Times each step of a compiled program and counts the bytes and FLOPs that it needs at
 * least.
 */
#ifndef CMD_BENCH_PROGRAM_H
#define CMD_BENCH_PROGRAM_H

#include "graph/program.h"

/* Work and time of one run of a step. */
struct bench_step {
    int64_t flops;
    size_t bytes;   /* cases/op_bench.h */
    double seconds; /* median over the runs */
};

/*
 * Runs the whole program `runs` times under trace; `dst` has p->nregion elements. On an
 * asynchronous device each step runs many times in a row instead, because synchronizing
 * takes longer than most kernels; no kernel is faster than its launch.
 */
void bench_program(struct program *p, int runs, struct bench_step *dst);

/* Times the program and prints a line per step and sums per kernel. bandwidth: bytes/s of
 * a copy. */
void bench_program_print(struct program *p, int runs, double bandwidth);

#endif
