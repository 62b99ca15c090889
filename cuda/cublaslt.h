/*
 * GEMMs by cuBLASLt, opened when a claim first asks (never linked). Matrices
 * are row-major and dense:
 *
 *   D [m x n] = A [m x k] B [k x n] (+ bias [n]);  a transposed operand is stored k x m,
 *                                                  or n x k
 *
 * Sums are fp32 whatever the types; fp32 data goes through TF32 only with options.tf32.
 * A GEMM that is split along k is summed in fp32 from the workspace, in a fixed order;
 * reductions in place, which use atomics, are refused. The algorithm is the heuristic's
 * first that it calls good for these sizes, and is kept in options.cache: one file for
 * each library version, device, options and GEMM.
 *
 * A described device has no handle to ask with (the library wants a driver even for its
 * heuristic): it takes the GEMM for granted, without a gradient of the bias beside it.
 */
#ifndef CUDA_CUBLASLT_H
#define CUDA_CUBLASLT_H

#include "base/strbuf.h"
#include "cuda/device.h"
#include "graph/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUBLASLT_WORKSPACE = 32 << 20 }; /* bytes, as NVIDIA advises for Hopper */

enum cublaslt_vector {
    CUBLASLT_NONE,
    CUBLASLT_BIAS,     /* read, of D's type: added to each row of D */
    CUBLASLT_BIAS_GRAD /* written, of D's type: the sums of A over k; A is transposed */
};

struct cublaslt_matmul {
    int64_t m, n, k;
    bool transposed_a, transposed_b;
    enum dtype type, out; /* of A and B; of D */
    enum cublaslt_vector vector;
};

struct cublaslt_plan; /* owned by who made it */

/* NULL with a static reason in *why: cuBLASLt has no algorithm for it. */
struct cublaslt_plan *
cublaslt_plan_new(struct device *dev, const struct cublaslt_matmul *w, const char **why);
void cublaslt_plan_free(struct cublaslt_plan *p);
size_t cublaslt_workspace(const struct cublaslt_plan *p);
/* "256x1000x2048 bf16 + bias, algorithm 66, 32.0 MiB workspace" */
void cublaslt_describe(const struct cublaslt_plan *p, struct strbuf *text);

/* On dev->stream. `vector` may be NULL with CUBLASLT_NONE. */
void cublaslt_run(struct device *dev, struct cublaslt_plan *p, const void *a,
                  const void *b, void *d, void *vector, void *workspace);

/* cublaslt_cache.c: n bytes of an algorithm under a key; false: there is none, or no
 * folder for it. */
bool cublaslt_cache_load(const struct device *dev, const char *key, void *algo, size_t n);
void cublaslt_cache_store(const struct device *dev, const char *key, const void *algo,
                          size_t n);

void cublaslt_close(struct device *dev); /* after all plans; may be called twice */

#ifdef __cplusplus
}
#endif

#endif
