/* A small ResNet in training on test_device(), for tests of training. */
#ifndef TESTS_SESSION_TRAIN_RUN_H
#define TESTS_SESSION_TRAIN_RUN_H

#include "session/session.h"

enum { SIDE = 8, BATCH = 4, CLASSES = 10 };

struct run {
    struct config cfg;
    struct session s;
    float *weights; /* as of the last run_weights() */
    float class_weight[256];
};

/* resnet20, SGD, fp32, batch 4, 8x8 pixels; then keys and values up to NULL. */
void run_init(struct run *r, const char *const *more);
/* The same with `images` per epoch. */
void run_init_of(struct run *r, int64_t images, const char *const *more);
void run_release(struct run *r);

/* Makes n samples from number `first` on: noise whose brightness depends on the class. */
void make_batch(uint8_t *pixels, int32_t *labels, int n, int first);
void run_steps(struct run *r, int n);
const float *run_weights(struct run *r); /* weights and buffers as they are now */
size_t run_bytes(const struct run *r);   /* of them */

/* Returns the parameter or buffer of that name. */
const struct segment *run_segment(const struct run *r, const char *name);

#endif
