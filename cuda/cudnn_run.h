/* Runs a plan that cuDNN has finalized, given pointers. */
#ifndef CUDA_CUDNN_RUN_H
#define CUDA_CUDNN_RUN_H

#include "cuda/cudnn.h"
#include "cuda/cudnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_FAILURES = 10 };

struct cudnn_plan {
    char *key;  /* identifies library, device, options, and graph */
    char *why;  /* reason if there is no engine, else NULL */
    void *desc; /* the finalized plan; NULL: none, or none will run */
    struct cudnn_graph graph;
    bool ran;                            /* cuDNN has executed it at least once */
    int failed[CUDNN_FAILURES], nfailed; /* engines that cuDNN did not execute */
    size_t reserved;                     /* workspace bytes provided by regions */
    void *own_workspace;                 /* a workspace of its own, if it needs more */
    int engine;                          /* cuDNN's engine number */
    size_t workspace;                    /* bytes */
    char notes[120];                     /* "tensor-core runtime-compiled" */
    float microseconds;                  /* measured by options.benchmark; 0: not timed */
    bool from_cache;
    int64_t uid[CUDNN_TENSORS]; /* of the real tensors, ascending */
    int nuid;
};

void cudnn_plan_free(struct cudnn *c, struct cudnn_plan *p);

/* The pointers of one use of a plan; rebuilt only when they change. */
struct cudnn_pack {
    struct cudnn *c;
    void *desc;
    void *pointer[CUDNN_TENSORS], *workspace;
};

/* Returns cuDNN's status. pointer[i] belongs to uid[i]. Runs on dev->stream; may be
 * captured after a first call. */
int cudnn_plan_try(struct cudnn *c, const struct cudnn_plan *p, struct cudnn_pack *pack,
                   void *const *pointer, void *workspace);
void cudnn_pack_release(struct cudnn_pack *pack);

#ifdef __cplusplus
}
#endif

#endif
