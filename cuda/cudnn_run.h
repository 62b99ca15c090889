/* A plan that cuDNN has finalized, run on pointers. */
#ifndef CUDA_CUDNN_RUN_H
#define CUDA_CUDNN_RUN_H

#include "cuda/cudnn.h"
#include "cuda/cudnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_FAILURES = 10 };

struct cudnn_plan {
    char *key;  /* library, device, options and graph */
    char *why;  /* no engine: the reason; else NULL */
    void *desc; /* the finalized plan; NULL: none, or none will run */
    struct cudnn_graph graph;
    bool ran;                            /* cuDNN has executed it */
    int failed[CUDNN_FAILURES], nfailed; /* engines that it did not execute */
    size_t reserved;                     /* bytes of workspace that regions give it */
    void *own;                           /* a workspace, if it needs more than that */
    int engine;                          /* cuDNN's number of it */
    size_t workspace;                    /* bytes */
    char notes[120];                     /* "tensor-core runtime-compiled" */
    float microseconds;                  /* as timed by options.benchmark; 0: not timed */
    bool from_cache;
    int64_t uid[CUDNN_TENSORS]; /* of the real tensors, rising */
    int nuid;
};

void cudnn_plan_free(struct cudnn *c, struct cudnn_plan *p);

/* The pointers of one use of a plan. Made again when they change, else kept. */
struct cudnn_pack {
    struct cudnn *c;
    void *desc;
    void *pointer[CUDNN_TENSORS], *workspace;
};

/* cuDNN's status. pointer[i] belongs to uid[i]. On dev->stream; may be captured after a
 * first call. */
int cudnn_plan_try(struct cudnn *c, const struct cudnn_plan *p, struct cudnn_pack *pack,
                   void *const *pointer, void *workspace);
void cudnn_pack_release(struct cudnn_pack *pack);

#ifdef __cplusplus
}
#endif

#endif
