/* How a plan is found, for cuda/cudnn_plan.c: engines, timing, the folder of plans. */
#ifndef CUDA_CUDNN_ENGINE_H
#define CUDA_CUDNN_ENGINE_H

#include "cuda/cudnn_lib.h"
#include "cuda/cudnn_plan.h"

/* What a finalized plan says of itself. */
struct cudnn_candidate {
    cudnnBackendDescriptor_t plan; /* the pool's; NULL: none will run */
    int engine;
    size_t workspace;
    bool compiled; /* when the plan is made, which takes a second */
    char notes[120];
};

/* cudnn_build.c: the graph as a descriptor, or NULL with the reason in p->message. */
cudnnBackendDescriptor_t cudnn_build(struct cudnn_pool *p, const struct cudnn_graph *g);

/*
 * cudnn_engine.c: the plans that the options allow, best first, at most `most` of them,
 * of which few are of engines that are compiled for it. For a described device and in a
 * hurry those are not compiled at all. If there are none, `why` gets the reason.
 */
int cudnn_candidates(struct cudnn_pool *p, const struct cudnn_graph *g,
                     struct cudnn_candidate *list, int most, struct strbuf *why);
size_t cudnn_workspace_limit(const struct cudnn *c);

/*
 * cudnn_nan.c: has the graph something after its convolution that an engine may clip, and
 * does a candidate's plan keep NaN there? It is run to see.
 */
bool cudnn_may_lose_nan(const struct cudnn_graph *g);
bool cudnn_keeps_nan(struct cudnn *c, const struct cudnn_graph *g,
                     const struct cudnn_candidate *k);

/*
 * cudnn_time.c: the pointer to hand over for a tensor that lies at `at`, which is another
 * one if it is by value; fills one whose value the graph says.
 */
void *cudnn_tensor_at(const struct cudnn_tensor *t, void *at);
void cudnn_fill(struct device *dev, const struct cudnn_tensor *t, void *at);

/*
 * cudnn_time.c: the fastest of the candidates on the device, with its time; the first,
 * without one, if the device has no room for their tensors or none of them runs.
 */
int cudnn_fastest(struct cudnn *c, const struct cudnn_graph *g,
                  const struct cudnn_plan *plan, const struct cudnn_candidate *list,
                  int n, float *microseconds);

/*
 * cudnn_cache.c: fills plan->desc and what belongs to it from the file of plan->key in
 * options.cache, or returns false; a file that is damaged or another plan's is named in
 * the log and passed over.
 */
bool cudnn_cache_load(struct cudnn *c, struct cudnn_plan *plan);
void cudnn_cache_store(struct cudnn *c, const struct cudnn_plan *plan);
void cudnn_cache_drop(struct cudnn *c, const struct cudnn_plan *plan); /* its file */

#endif
