/*
 * GEMMs by cuBLASLt, which is opened when a claim first asks (never linked). Matrices are
 * row-major and dense:
 *
 *   D [m x n] = alpha A [m x k] B [k x n] (+ D) (+ bias [n])
 *
 * A transposed operand is stored k x m, or n x k.
 *
 * Sums are always fp32; fp32 data only uses TF32 with options.tf32. A GEMM split along k
 * is summed in fp32 from the workspace, in a fixed order; reductions in place, which use
 * atomics, are refused. The algorithm is the fastest of the heuristic's offers, timed as
 * convolutions are (options.benchmark), or else its first that is valid for these sizes. It
 * is kept in options.cache, one file for each library version, device, options, and GEMM.
 *
 * A described device has no handle (the library needs a driver even for its heuristic):
 * GEMMs are assumed to exist, but not fused with a bias gradient.
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
    CUBLASLT_BIAS,     /* input, of D's type: added to each row of D */
    CUBLASLT_BIAS_GRAD /* output, of D's type: the sums of A over k; A is transposed */
};

/* Epilogues with GELU's tanh form, z being the GEMM's result with its bias: D = gelu(z),
 * which may also store z; or D = z times the slope of gelu at a stored matrix. */
enum cublaslt_gelu {
    CUBLASLT_NO_GELU,
    CUBLASLT_GELU,
    CUBLASLT_GELU_STORED,
    CUBLASLT_GELU_GRAD
};

struct cublaslt_matmul {
    int64_t m, n, k;
    bool transposed_a, transposed_b;
    enum dtype type, out; /* type: of A and B; out: of D */
    enum cublaslt_vector vector;
    enum cublaslt_gelu gelu; /* in 16 bits, n a multiple of 8 */
    bool add;                /* adds to the D in memory */
    bool full;               /* no TF32, whatever the options */
    float alpha;             /* 0: 1 */
};

struct cublaslt_plan; /* owned by the caller of cublaslt_plan_new */

/* Returns NULL with a static reason in *why if cuBLASLt has no algorithm for it. */
struct cublaslt_plan *
cublaslt_plan_new(struct device *dev, const struct cublaslt_matmul *w, const char **why);
void cublaslt_plan_free(struct cublaslt_plan *p);
size_t cublaslt_workspace(const struct cublaslt_plan *p);
/* "256x1000x2048 bf16 + bias, algorithm 66, 32.0 MiB workspace" */
void cublaslt_describe(const struct cublaslt_plan *p, struct strbuf *text);

/* Runs on dev->stream. `vector` may be NULL with CUBLASLT_NONE. */
void cublaslt_run(struct device *dev, struct cublaslt_plan *p, const void *a,
                  const void *b, void *d, void *vector, void *workspace);
/* Sets the matrix like D that CUBLASLT_GELU_STORED writes or CUBLASLT_GELU_GRAD reads;
 * before each run. */
void cublaslt_set_gelu(struct device *dev, struct cublaslt_plan *p, void *z);

/* cublaslt_cache.c: loads or stores n bytes of an algorithm and its time under a key. load
 * returns false if the key or CUDNN.CACHE's folder does not exist. */
bool cublaslt_cache_load(const struct device *dev, const char *key, void *algo, size_t n,
                         float *microseconds);
void cublaslt_cache_store(const struct device *dev, const char *key, const void *algo,
                          size_t n, float microseconds);

/* call after freeing all plans; may be called twice */
void cublaslt_close(struct device *dev);

#ifdef __cplusplus
}
#endif

#endif
