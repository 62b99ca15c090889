/*
 * The plan for an operation graph: which engine runs it, with how much workspace.
 *
 * Engines come from heuristic A, then FALLBACK, for the target device; the first whose
 * plan finalizes and that the options allow is taken, or with options.benchmark the
 * fastest of the first ten, timed on the device. Refused are engines that
 *   - accumulate in less than fp32, or convert inputs to a smaller type;
 *   - compute fp32 data on tensor cores (TF32), unless options.tf32;
 *   - are nondeterministic, if options.deterministic;
 *   - transform halves by Winograd, or fp32 with tiles over 4x4;
 *   - need more workspace than options.workspace (0: CUDNN_WORKSPACE bytes).
 *
 * A plan is made once for each text of a graph, kept with the device, and written to
 * options.cache; a later start makes it from there without asking any heuristic.
 */
#ifndef CUDA_CUDNN_PLAN_H
#define CUDA_CUDNN_PLAN_H

#include "base/strbuf.h"
#include "cuda/cudnn.h"
#include "cuda/cudnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_WORKSPACE = 256 << 20 };

struct cudnn_plan {
    char *key;          /* library, device, options and graph */
    char *why;          /* no engine: the reason; else NULL */
    void *desc;         /* the finalized plan */
    int engine;         /* cuDNN's number of it */
    size_t workspace;   /* bytes */
    char notes[120];    /* "tensor-core runtime-compiled" */
    float microseconds; /* as timed by options.benchmark; 0: not timed */
    bool from_cache;
    int64_t uid[CUDNN_TENSORS]; /* of the real tensors, rising */
    int nuid;
};

/* Never NULL; the device keeps it. */
const struct cudnn_plan *cudnn_plan_get(struct cudnn *c, const struct cudnn_graph *g);
void cudnn_plan_free(struct cudnn *c, struct cudnn_plan *p);

/* The pointers of one use of a plan. Made again when they change, else kept. */
struct cudnn_pack {
    struct cudnn *c;
    void *desc;
    void *pointer[CUDNN_TENSORS], *workspace;
};

/* pointer[i] belongs to uid[i]. On dev->stream; may be captured after a first call. */
void cudnn_plan_run(struct cudnn *c, const struct cudnn_plan *p, struct cudnn_pack *pack,
                    void *const *pointer, void *workspace);
/* The same, but returns cuDNN's status. */
int cudnn_plan_try(struct cudnn *c, const struct cudnn_plan *p, struct cudnn_pack *pack,
                   void *const *pointer, void *workspace);
void cudnn_pack_release(struct cudnn_pack *pack);

#ifdef __cplusplus
}
#endif

#endif
