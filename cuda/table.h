/* Constant tables of a region on the device: lists of segments, or of pieces of work. */
#ifndef CUDA_TABLE_H
#define CUDA_TABLE_H

#include "cuda/device.h"
#include "graph/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Returns the index in step->derived of a copy of `data`, which program_refresh()
 * transfers to the device: no step copies anything. `data` may be freed when this
 * returns.
 */
int cuda_table(struct region *r, struct device *dev, const void *data, size_t size);

#ifdef __cplusplus
}
#endif

#endif
