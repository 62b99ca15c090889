/*
 * The reference kernel: claims any single node and runs op->ref. 16-bit tensors are
 * widened into the workspace before the call and rounded back after it, so rounding,
 * overflow, and underflow of fp16 and bf16 are real while sums are double. Unused outputs
 * get scratch memory, so op->ref never sees NULL.
 *
 * backend_ref is a device in plain host memory with only this kernel: "--device ref".
 */
#ifndef OPS_REFERENCE_H
#define OPS_REFERENCE_H

#include "graph/backend.h"

extern const struct kernel kernel_reference;
extern const struct backend backend_ref;

#endif
