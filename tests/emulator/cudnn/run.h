/*
 * One run of a graph, and its operations. They read and write values; sums are double,
 * results float.
 */
#ifndef EMULATOR_CUDNN_RUN_H
#define EMULATOR_CUDNN_RUN_H

#include "tests/emulator/cudnn/value.h"

struct run {
    const struct tensor *tensor;
    struct value *value; /* one per tensor */
    void *const *memory; /* per tensor: its address; NULL: virtual */
    bool tf32;           /* convolutions and GEMMs round float operands to 10 bits */
    bool clips;          /* NaN becomes the lower bound of a relu or a stored sum */
    uint32_t noise;      /* not 0: an engine whose results differ from run to run */
};

/* Returns NULL if the slot is empty. */
const struct value *run_in(const struct run *r, const struct op *op, int slot);
struct value *run_out(const struct run *r, const struct op *op, int slot);

void run_convolution(const struct run *r, const struct op *op);
void run_pointwise(const struct run *r, const struct op *op);
void run_matmul(const struct run *r, const struct op *op);
void run_reduction(const struct run *r, const struct op *op);
void run_reshape(const struct run *r, const struct op *op);
void run_resample(const struct run *r, const struct op *op);
void run_gen_stats(const struct run *r, const struct op *op);
void run_bn_finalize(const struct run *r, const struct op *op);
void run_bn_weights(const struct run *r, const struct op *op);
void run_norm_forward(const struct run *r, const struct op *op);
void run_norm_backward(const struct run *r, const struct op *op);

/* Returns how many inputs (1 to 3) a pointwise mode reads; 0 for an unsupported mode. */
int pointwise_inputs(int mode);

#endif
