/* cuBLASLt's calls and a GEMM's descriptors; only for cublaslt*.c. */
#ifndef CUDA_CUBLASLT_LIB_H
#define CUDA_CUBLASLT_LIB_H

#include <cublasLt.h>

#include "base/strmap.h"
#include "cuda/cublaslt.h"
#include "cuda/library.h"

#define CUBLASLT_CALLS(X)                                                                \
    X(Create)                                                                            \
    X(Destroy)                                                                           \
    X(GetStatusString)                                                                   \
    X(MatmulDescCreate)                                                                  \
    X(MatmulDescDestroy)                                                                 \
    X(MatmulDescSetAttribute)                                                            \
    X(MatrixLayoutCreate)                                                                \
    X(MatrixLayoutDestroy)                                                               \
    X(MatmulPreferenceCreate)                                                            \
    X(MatmulPreferenceDestroy)                                                           \
    X(MatmulPreferenceSetAttribute)                                                      \
    X(MatmulAlgoGetHeuristic)                                                            \
    X(MatmulAlgoCheck)                                                                   \
    X(MatmulAlgoConfigGetAttribute)                                                      \
    X(LoggerSetCallback)                                                                 \
    X(LoggerSetLevel)                                                                    \
    X(LoggerOpenFile)                                                                    \
    X(Matmul)

struct cublaslt {
    const struct cuda_library *library;
    cublasLtHandle_t handle;
    struct strmap choice; /* by key: struct cublaslt_choice, owned */
#define X(name) __typeof__(cublasLt##name) *name;
    CUBLASLT_CALLS(X)
#undef X
};

/* Guaranteed alignment of matrices and vectors in bytes. */
enum { CUBLASLT_ALIGNMENT = 16 };

struct cublaslt_choice {
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
    float microseconds; /* 0: not timed */
};

/* cuBLASLt is column-major: its A is our B, its B is our A, its D is our D transposed. */
struct cublaslt_plan {
    struct cublaslt *c;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, d; /* in our names */
    struct cublaslt_choice choice;
    void *vector; /* the one set in the description */
    void *z;      /* likewise, of gelu */
    struct cublaslt_matmul what;
    int number; /* the library's algorithm number; -1: unknown */
};

/* Dies unless `status` is success. `call`: its source text, "c->Matmul(c->handle, ...". */
void cublaslt_check(struct device *dev, cublasStatus_t status, const char *call);
#define CUBLASLT_CHECK(dev, call) cublaslt_check((dev), (call), #call)

/* "256x1000x2048 bf16 + bias" */
void cublaslt_matmul_text(const struct cublaslt_matmul *w, struct strbuf *s);

/* Launches with an algorithm other than p->choice, too. */
cublasStatus_t cublaslt_try(struct device *dev, struct cublaslt_plan *p,
                            const struct cublaslt_choice *choice, const void *a,
                            const void *b, void *d, void *vector, void *workspace);

/* cublaslt_choose.c: fills p->choice and p->number for the finished descriptors; returns
 * NULL, or why there is no algorithm. */
const char *cublaslt_choose(struct device *dev, struct cublaslt_plan *p);
/* Same by time, and without the cache, for descriptors that were changed. Returns false if
 * no algorithm runs. */
bool cublaslt_time(struct device *dev, struct cublaslt_plan *p);

#endif
