/*
 * cuDNN for the rest of the CUDA backend: opened when a claim first asks (never linked),
 * with a handle on dev->stream for a real GPU, or with only the description. Both answer
 * the same queries: which engine would run this operation graph, and with how much
 * workspace.
 *
 *   cuda/cudnn_graph.h    an operation graph as plain numbers, and its text
 *   cuda/cudnn_plan.h     the engine for a graph: heuristics, filters, cache, execution
 *   cuda/cudnn_region.h   a region of nodes as an operation graph: the generic claim
 *
 * Needs cuDNN 9 (9.8 or later for a described device). Anything cuDNN refuses is a reason
 * to decline; other failures end the program with cuDNN's own last message.
 */
#ifndef CUDA_CUDNN_H
#define CUDA_CUDNN_H

#include <stddef.h>

#include "cuda/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Dies with the reason if there is no usable library. */
struct cudnn *cudnn_open(struct device *dev); /* the device's one, opened at first use */
/* call after freeing all programs; may be called twice */
void cudnn_close(struct device *dev);

/* Version of the headers: an older library has all functions used here, but fewer engines. */
int cudnn_built_with(void);

/* Returns cuDNN's own description of a GPU as JSON, to be freed; NULL if it has none. */
char *cudnn_describe(int index);

#ifdef __cplusplus
}
#endif

#endif
