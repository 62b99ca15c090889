/*
 * Predicts the time of a compiled program, and its lower bound, from the bytes and
 * operations of each step (cases/op_bench.h) and the limits of the device (struct
 * device_limits). Runs nothing.
 *
 * floor:     each step takes max(bytes / bandwidth, FLOP / peak).
 * predicted: the same with the fractions of the limits that good kernels reach on Hopper
 *            (4.3 of 4.8 TB/s; 650 of 989 TFLOP/s in ResNet-50's convolutions), and at
 *            least the time of an empty kernel in a CUDA graph.
 *
 * Both ignore caches: a step whose data fits into the last-level cache can be faster than
 * its floor.
 */
#ifndef CMD_STEP_FLOOR_H
#define CMD_STEP_FLOOR_H

#include "graph/program.h"

#define STEP_BANDWIDTH_SHARE 0.9
#define STEP_PRODUCT_SHARE   0.65
#define STEP_MIN             2.5e-6 /* seconds */

struct step_floor {
    double floor, predicted; /* seconds */
    bool moves;              /* bytes need longer than operations */
};

/* Returns false if the limits of the program's device are unknown. */
bool step_limits(const struct program *p, struct device_limits *l);
struct step_floor step_floor(const struct region *r, const struct device_limits *l);
/* Returns the peak FLOP/s of the units that the kernel uses: tensor cores (16 bits or TF32,
 * by the type of the first input), or plain fp32. */
double step_peak(const struct region *r, const struct device_limits *l);
/* Returns the sums over a program. */
struct step_floor step_floor_all(const struct program *p, const struct device_limits *l);

/* Prints the sums, and a line per kernel with its share of the predicted time. */
void step_floor_print(const struct program *p, int64_t batch);

#endif
