/*
 * trainc bench --convs: the convolutions and linear layers of a training step and nothing
 * else. Done by the library alone they are the speed that a step can approach; those that
 * our own kernels do in a step are measured in both ways, in turns.
 */
#ifndef CMD_BENCH_CONVS_H
#define CMD_BENCH_CONVS_H

#include "session/session.h"

enum conv_direction { CONV_FORWARD, CONV_DATA, CONV_WEIGHT, CONV_DIRECTIONS };

struct conv_time {
    char *layer;
    enum conv_direction direction;
    int64_t flops;
    double library, own; /* seconds, medians; own is 0 where the library does it anyway */
    double more;         /* of the library: the rest of what our own does in one go */
    const char *kernel;  /* of our own, or NULL */
};

struct bench_convs {
    struct conv_time *conv; /* in the order of the step */
    int nconv;
};

/* Measures a session for training, in `runs` rounds. */
struct bench_convs bench_convs(struct session *s, int runs);
void bench_convs_release(struct bench_convs *c);

/* Seconds of all of them by the library. */
double bench_convs_library(const struct bench_convs *c);

/*
 * Prints what a step of `step` seconds and `batch` images can approach, then our own
 * kernels beside the library: sums and, if `each`, every convolution.
 */
void bench_convs_print(const struct bench_convs *c, double step, double batch, bool each);

#endif
