/*
 * The plan for an operation graph: the engine that runs it, and its workspace.
 *
 * Engines come from heuristic A, then FALLBACK, for the target device. The first one
 * allowed by the options whose plan finalizes is used, or with options.benchmark the
 * fastest of the first ten, timed on the device. Engines are refused if they
 *   - accumulate in less than fp32, or convert inputs to a smaller type;
 *   - compute fp32 data on tensor cores (TF32), unless options.tf32;
 *   - are nondeterministic, if options.deterministic;
 *   - transform 16-bit floats by Winograd, or fp32 with tiles over 4x4;
 *   - are compiled for more than one operation and have no tensor cores for it;
 *   - need more workspace than options.workspace (0: CUDNN_WORKSPACE bytes);
 *   - lose NaN in ops after their convolution, as a run on the device shows.
 *
 * A plan is made once for each text of a graph, kept with the device, and written to
 * options.cache; a later start loads it without asking a heuristic.
 */
#ifndef CUDA_CUDNN_PLAN_H
#define CUDA_CUDNN_PLAN_H

#include "cuda/cudnn_graph.h"
#include "cuda/cudnn_run.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDNN_WORKSPACE = 256 << 20 };

/* Never returns NULL; the device owns the plan. */
struct cudnn_plan *cudnn_plan_get(struct cudnn *c, const struct cudnn_graph *g);

/*
 * Runs it (cudnn_plan_try). Some engines have plans that finalize but do not execute: if
 * a plan's first run fails, its file is deleted from the cache, and the next candidate
 * replaces it. Dies with the first error if none is left.
 */
void cudnn_plan_run(struct cudnn *c, struct cudnn_plan *p, struct cudnn_pack *pack,
                    void *const *pointer, void *workspace);

/* "engine 62, 0.3 MiB workspace, tensor-core" */
void cudnn_plan_describe(const struct cudnn_plan *p, struct strbuf *text);

#ifdef __cplusplus
}
#endif

#endif
