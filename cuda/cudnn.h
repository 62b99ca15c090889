/*
 * cuDNN as the rest of the CUDA backend sees it: opened when a claim first asks (never
 * linked), with a handle on dev->stream where there is a GPU, with the description alone
 * where there is none. Both answer the same questions: which engine would run this
 * operation graph, with how much workspace.
 *
 *   cuda/cudnn_graph.h    an operation graph as plain numbers, and its text
 *   cuda/cudnn_plan.h     the engine for a graph: heuristics, filters, cache, execution
 *   cuda/cudnn_region.h   a region of nodes as an operation graph: the generic claim
 *
 * Needs cuDNN 9 (9.8 or later for a described device). What cuDNN refuses is a reason to
 * decline; what fails otherwise ends the program with cuDNN's own last message.
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
void cudnn_close(struct device *dev); /* after all programs; may be called twice */

/* The version of the headers: an older library lacks nothing that is used, but engines. */
int cudnn_built_with(void);

/* cuDNN's own description of a GPU as JSON, to be freed; NULL: it has none. */
char *cudnn_describe(int index);

#ifdef __cplusplus
}
#endif

#endif
