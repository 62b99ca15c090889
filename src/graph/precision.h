/*
 * Mixed precision as a graph edit: sets the dtype of every tensor and inserts casts.
 *
 * Levels are NVIDIA Apex's (its last release, 2025):
 *
 *   O0  fp32 everywhere
 *   O1  each op by its class (graph/op.h)
 *   O2  16 bits except losses, statistics, and weights of norms; fp32 master weights
 *   O3  as O2 without master weights: the optimizer rounds weights to 16 bits
 *      (ops/update.h); Apex also keeps biases, norms, and statistics in 16 bits, which
 *      stay fp32 here
 *
 * Parameters, statistics, and gradients of parameters are always stored in fp32; a backend
 * may narrow gradients that nothing sums (ops/half_grads.h).
 */
#ifndef GRAPH_PRECISION_H
#define GRAPH_PRECISION_H

#include "graph/graph.h"

enum amp_level { AMP_O0, AMP_O1, AMP_O2, AMP_O3 };

/*
 * User rules for single layers, by shell patterns of their names ("head.*"; see
 * precision_layer_matches): their forward and backward nodes compute in fp32 (f32), or in
 * the 16-bit type regardless of level and class (half), except ops of PRECISION_F32. A
 * layer in both lists is fp32. f32_hits and half_hits count the forward nodes that each
 * pattern matches, also at O0, where the lists change nothing.
 */
struct precision_rules {
    const char *const *f32, *const *half;
    int nf32, nhalf;
    int *f32_hits, *half_hits; /* per pattern; zero before */
};

/* True if a pattern matches a layer by its name, or as "head.*" its contents
 * (head.weight). */
bool precision_layer_matches(const char *pattern, const char *layer);

void precision(struct graph *g, enum amp_level level, enum dtype half);
void precision_by_rules(struct graph *g, enum amp_level level, enum dtype half,
                        const struct precision_rules *rules);

#endif
