/* Finding a plan, for cuda/cudnn_plan.c: engines, timing, the folder of plans. */
#ifndef CUDA_CUDNN_ENGINE_H
#define CUDA_CUDNN_ENGINE_H

#include "cuda/cudnn_lib.h"
#include "cuda/cudnn_plan.h"

/* The properties of a finalized plan. */
struct cudnn_candidate {
    cudnnBackendDescriptor_t plan; /* owned by the pool; NULL: none will run */
    int engine;
    size_t workspace;
    bool compiled; /* compiled when the plan is made, which takes a second */
    char notes[120];
};

/* cudnn_build.c: returns the graph as a descriptor, or NULL with the reason in p->message. */
cudnnBackendDescriptor_t cudnn_build(struct cudnn_pool *p, const struct cudnn_graph *g);

/*
 * cudnn_engine.c: lists the plans that the options allow, best first, at most `limit`, of
 * which few are of run-time compiled engines. For a described device and in a hurry those
 * are not compiled. If there are none, `why` gets the reason.
 */
int cudnn_candidates(struct cudnn_pool *p, const struct cudnn_graph *g,
                     struct cudnn_candidate *list, int limit, struct strbuf *why);
size_t cudnn_workspace_limit(const struct cudnn *c);

/*
 * cudnn_nan.c. may_lose_nan: true if the graph has operations after its convolution that
 * an engine may clip. keeps_nan: runs a candidate's plan and returns whether NaN is kept
 * there.
 */
bool cudnn_may_lose_nan(const struct cudnn_graph *g);
bool cudnn_keeps_nan(struct cudnn *c, const struct cudnn_graph *g,
                     const struct cudnn_candidate *k);

/*
 * cudnn_time.c. tensor_at: returns the pointer to pass for a tensor at address `ptr`;
 * differs if it is passed by value. fill: fills a tensor whose value the graph
 * prescribes.
 */
void *cudnn_tensor_at(const struct cudnn_tensor *t, void *ptr);
void cudnn_fill(struct device *dev, const struct cudnn_tensor *t, void *ptr);

/*
 * cudnn_time.c: returns the fastest of the candidates on the device, and its time;
 * returns the first, without a time, if the device has no memory for their tensors or
 * none of them runs.
 */
int cudnn_fastest(struct cudnn *c, const struct cudnn_graph *g,
                  const struct cudnn_plan *plan, const struct cudnn_candidate *list,
                  int n, float *microseconds);

/*
 * cudnn_cache.c: fills plan->desc and related members from the file of plan->key in
 * options.cache, or returns false; a damaged file, or another plan's, is logged and
 * ignored.
 */
bool cudnn_cache_load(struct cudnn *c, struct cudnn_plan *plan);
void cudnn_cache_store(struct cudnn *c, const struct cudnn_plan *plan);
/* deletes its file */
void cudnn_cache_drop(struct cudnn *c, const struct cudnn_plan *plan);

#endif
