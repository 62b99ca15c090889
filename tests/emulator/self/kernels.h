/* Kernels, most of them with a bug, and their launches. */
#ifndef TESTS_EMULATOR_SELF_KERNELS_H
#define TESTS_EMULATOR_SELF_KERNELS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct device;

enum bug {
    BUG_NONE,
    BUG_NO_BARRIER,      /* missing between writing and reading shared memory */
    BUG_HALF_BARRIER,    /* reached by only half of the threads */
    BUG_OTHER_BARRIER,   /* two that wait for each other */
    BUG_EARLY_RETURN,    /* of one thread, before a barrier */
    BUG_OUTSIDE_MASK,    /* a lane that is not in its own mask */
    BUG_MISSING_LANE,    /* a mask with a lane that never arrives */
    BUG_UNWRITTEN,       /* reads dynamic shared memory before it is written */
    BUG_UNWRITTEN_BLOCK, /* static memory written only by block 0 */
    BUG_PAST_END,        /* writes past the end of dynamic shared memory */
    BUG_REUSE,           /* overwrites shared memory while others read it */
    BUG_RACE             /* blocks that add to the same number */
};

/* y[block] = sum of the block's 64 elements of x, through shared memory. */
void test_sum_shared(struct device *dev, const float *x, float *y, int blocks,
                     enum bug bug);
/* The same by warp shuffles; 40 threads, so the second warp is not full. */
void test_sum_warp(struct device *dev, const float *x, float *y, int blocks,
                   enum bug bug);
/* The sum of 64 elements by shuffles, as the difference of two consecutive sums. */
void test_sum_twice(struct device *dev, const float *x, float *y, int blocks,
                    enum bug bug);
/* y[i] = x[i] + 1 */
void test_increment(struct device *dev, const float *x, float *y, int n);
/* An empty launch of any size. */
void test_launch(struct device *dev, unsigned grid_y, unsigned block, size_t shared,
                 size_t allow);
/* Ballot, any, all, up, down, sync, count and atomics: 64 integers. */
void test_integers(struct device *dev, int *y);

#ifdef __cplusplus
}
#endif

#endif
