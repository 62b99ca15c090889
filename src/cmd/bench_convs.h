/*
 * trainc bench --convs: the convolutions of a training step and nothing else, done by the
 * library alone: the speed that a step can approach.
 */
#ifndef CMD_BENCH_CONVS_H
#define CMD_BENCH_CONVS_H

#include "train/step.h"

/* Seconds of all convolutions and linear layers of one step; medians of `runs` rounds. */
struct bench_convs {
    double forward, data, weight;
    int64_t flops;
};

struct bench_convs bench_convs(struct session *s, int runs);

#endif
