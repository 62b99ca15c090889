/*
 * Times candidates of the libraries on the device, with buffers of the real sizes and
 * within a CUDA graph, as they will run. Launched one by one, a small layer's kernel takes
 * less time than the host's call of the library, and all candidates look equal.
 *
 *   char *memory = timing_alloc(dev, bytes, "cuDNN's engines");
 *   timing_fill(dev, memory, bytes, DTYPE_F16);
 *   for (int round = 0; round < TIMING_ROUNDS; round++)
 *       for each candidate: us = timing_run(dev, submit, &candidate, &why);
 *   timing_free(dev, memory);
 */
#ifndef CUDA_TIMING_H
#define CUDA_TIMING_H

#include "cuda/device.h"

/* Two rounds, because the clocks of an idle GPU may still be rising in the first. */
enum { TIMING_ROUNDS = 2, TIMING_ALIGN = 256 };

/* Returns bytes, on a boundary of TIMING_ALIGN. Returns NULL if the device has no room, and
 * logs once that the first of `what` are used: later programs are compiled while earlier
 * ones hold most of the memory. */
char *timing_alloc(struct device *dev, size_t bytes, const char *what);
void timing_free(struct device *dev, char *memory);

/* Fills with numbers in [-1, 1): tensor cores are slower on them than on zeros. */
void timing_fill(struct device *dev, char *dst, size_t bytes, enum dtype type);

/* Launches one run on dev->stream. Returns NULL, or why that is impossible. */
typedef const char *timing_submit(void *arg);

/* Returns microseconds per run, or 0 with the reason in *why: `submit` or the capture has
 * failed. Launches one by one if the device captures nothing. */
float timing_run(struct device *dev, timing_submit *submit, void *arg, const char **why);

#endif
