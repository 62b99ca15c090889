/*
 * Programs of one network that run the same convolutions and linear layers with different
 * kernels, to time these kernels in turns: trainc bench --convs and --tune. All sides use
 * the same memory, except for packed weights, because only single steps run and their
 * results are not read.
 *
 *   bench_side_compile(&side[0], s, s->backend, BUILD_TRAIN);
 *   bench_side_compile(&side[1], ...);
 *   bench_sides_bind(side, 2, s);
 *   seconds = bench_side_run(&side[0], i);
 *   bench_sides_release(side, 2, s);
 */
#ifndef CMD_BENCH_SIDE_H
#define CMD_BENCH_SIDE_H

#include "session/session.h"

enum conv_direction { CONV_FORWARD, CONV_DATA, CONV_WEIGHT, CONV_DIRECTIONS };

struct bench_side {
    struct build build;
    struct program *program;
};

void bench_side_compile(struct bench_side *d, struct session *s,
                        const struct backend *backend, enum build_kind kind);
/* Allocates the memory of n sides and fills it with random values. */
void bench_sides_bind(struct bench_side *d, int n, const struct session *s);
/* Also if they are not bound. */
void bench_sides_release(struct bench_side *d, int n, const struct session *s);

/* Returns the direction of a convolution or linear layer, or CONV_DIRECTIONS for any other
 * op. */
enum conv_direction bench_direction(const struct node *n);
/* Returns the convolution or linear layer in region r, or NULL. */
const struct node *bench_conv_of(const struct region *r);
/* Returns the step that runs the same op and layer as n (a node of another side), or -1. */
int bench_side_step(const struct bench_side *d, const struct node *n);
/* Runs one step and returns its seconds. */
double bench_side_run(const struct bench_side *d, int step);

#endif
