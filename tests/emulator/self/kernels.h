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
    BUG_NO_BARRIER,      /* between writing and reading shared memory */
    BUG_HALF_BARRIER,    /* that half of the threads reach */
    BUG_OTHER_BARRIER,   /* two that wait for each other */
    BUG_EARLY_RETURN,    /* of one thread, in front of a barrier */
    BUG_OUTSIDE_MASK,    /* a lane that its own mask does not name */
    BUG_MISSING_LANE,    /* a mask that names a lane that does not come */
    BUG_UNWRITTEN,       /* dynamic shared memory is read before it is written */
    BUG_UNWRITTEN_BLOCK, /* static memory that only block 0 writes */
    BUG_PAST_END,        /* dynamic shared memory past its end */
    BUG_REUSE,           /* shared memory is written again while others read it */
    BUG_RACE             /* blocks that add to one number */
};

/* y[block] = sum of the block's 64 elements of x, by shared memory. */
void test_sum_shared(struct device *dev, const float *x, float *y, int blocks,
                     enum bug bug);
/* The same by warp shuffles; 40 threads, so that the second warp is not full. */
void test_sum_warp(struct device *dev, const float *x, float *y, int blocks,
                   enum bug bug);
/* The sum of 64 elements by shuffles, as the difference of two sums, one after
 * the other. */
void test_sum_twice(struct device *dev, const float *x, float *y, int blocks,
                    enum bug bug);
/* y[i] = x[i] + 1 */
void test_increment(struct device *dev, const float *x, float *y, int n);
/* A launch that does nothing, of any size. */
void test_launch(struct device *dev, unsigned grid_y, unsigned block, size_t shared,
                 size_t allow);
/* Ballot, any, all, up, down, sync, count and atomics: 64 integers. */
void test_integers(struct device *dev, int *y);

#ifdef __cplusplus
}
#endif

#endif
