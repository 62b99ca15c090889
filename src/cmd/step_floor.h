/*
 * How fast a compiled program can be on its device at the most, and how fast it is likely
 * to be, computed from each step's bytes and operations (cases/op_bench.h) and from the
 * device's limits (struct device_limits). Nothing runs.
 *
 * floor:     each step takes as long as the larger of bytes / bandwidth and FLOP / peak.
 * predicted: with the shares of the limits that good kernels reach on Hopper (4.3 of 4.8
 *            TB/s; 650 of 989 TFLOP/s in ResNet-50's convolutions), and no step in less
 *            than a kernel takes in a CUDA graph.
 *
 * Neither knows caches: what fits into the last-level cache may be faster than its floor.
 */
#ifndef CMD_STEP_FLOOR_H
#define CMD_STEP_FLOOR_H

#include "graph/program.h"

#define STEP_BANDWIDTH_SHARE 0.9
#define STEP_PRODUCT_SHARE   0.65
#define STEP_LEAST           2.5e-6 /* seconds */

struct step_floor {
    double floor, predicted; /* seconds */
    bool moves;              /* bytes need longer than operations */
};

/* False: the limits of the program's device are not known. */
bool step_limits(const struct program *p, struct device_limits *l);
struct step_floor step_floor(const struct region *r, const struct device_limits *l);
/* FLOP/s of what its kernel computes with: tensor cores, TF32 or not, by the type of the
 * first tensor that it reads, or plain fp32. */
double step_peak(const struct region *r, const struct device_limits *l);
/* The sums over a program. */
struct step_floor step_floor_all(const struct program *p, const struct device_limits *l);

/* The sums, and a line for each kernel with its share of the prediction. */
void step_floor_print(const struct program *p, int64_t batch);

#endif
