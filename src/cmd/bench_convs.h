/*
 * trainc bench --convs: times only the convolutions and linear layers of a training step.
 * Their speed with the library is the limit that a step can approach. Layers that a step
 * runs with our own kernels are timed with both, alternately.
 */
#ifndef CMD_BENCH_CONVS_H
#define CMD_BENCH_CONVS_H

#include "cmd/bench_side.h"

struct conv_time {
    char *layer;
    enum conv_direction direction;
    int64_t flops;
    double library, ours; /* median seconds; own is 0 if the step uses the library */
    double more;        /* library seconds for the other ops that our own kernel fuses */
    const char *kernel; /* our own kernel, or NULL */
};

struct bench_convs {
    struct conv_time *conv; /* in execution order */
    int nconv;
};

/* Times the convolutions of a training session in `runs` rounds. Free the result with
 * bench_convs_release(). */
struct bench_convs bench_convs(struct session *s, int runs);
void bench_convs_release(struct bench_convs *c);

/* Returns the seconds that the library takes for all of them. */
double bench_convs_library(const struct bench_convs *c);

/*
 * Prints the limit that a step of `step` seconds and `batch` images can approach, then a
 * table of our own kernels and the library: sums and, if `each`, every convolution.
 */
void bench_convs_print(const struct bench_convs *c, double step, double batch, bool each);

#endif
