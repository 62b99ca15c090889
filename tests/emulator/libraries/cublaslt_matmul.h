/* One GEMM, M x N x K and column-major, on the emulated cuBLASLt. */
#ifndef TESTS_EMULATOR_CUBLASLT_MATMUL_H
#define TESTS_EMULATOR_CUBLASLT_MATMUL_H

#include <cublasLt.h>
#include <stdbool.h>

#define LT_CALLS(X)                                                                      \
    X(Create)                                                                            \
    X(Destroy)                                                                           \
    X(Matmul)                                                                            \
    X(MatmulAlgoGetHeuristic)                                                            \
    X(MatmulDescCreate)                                                                  \
    X(MatmulDescDestroy)                                                                 \
    X(MatmulDescSetAttribute)                                                            \
    X(MatrixLayoutCreate)                                                                \
    X(MatrixLayoutDestroy)                                                               \
    X(MatrixLayoutSetAttribute)                                                          \
    X(MatmulPreferenceCreate)                                                            \
    X(MatmulPreferenceDestroy)                                                           \
    X(MatmulPreferenceSetAttribute)                                                      \
    X(GetVersion)

struct lt {
#define X(name) __typeof__(cublasLt##name) *name;
    LT_CALLS(X)
#undef X
};

/* The emulation, available after lt_setup(), cmocka's group setup. */
extern struct lt lt;
extern cublasLtHandle_t lt_handle;

int lt_setup(void **state);
int lt_teardown(void **state);

/* Returns false if there is no such library. */
bool lt_load(struct lt *l, const char *path);

enum { M = 8, N = 6, K = 5, LD = 16, BATCH = 2, MOST = LD * 16 * BATCH };

struct lt_problem {
    bool ta, tb, row; /* row: A, B, C, D are row-major */
    int batch, epilogue;
    cudaDataType_t type, out;
    cublasComputeType_t compute;
    float alpha, beta;
};

enum { A, B, C, D, BIAS, AUX };

/* Its operands, under these names, and the workspace. */
extern unsigned char lt_memory[8][MOST * 4];
extern unsigned char lt_workspace[2 << 20];

/* Defaults: one matrix, no epilogue, float, alpha = 1. */
#define PROBLEM(...) lt_complete((struct lt_problem){__VA_ARGS__})
struct lt_problem lt_complete(struct lt_problem p);

struct lt_call {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, c, d;
    cublasLtMatmulPreference_t want;
};

/* Creates the descriptors of a GEMM; free them with lt_forget(). */
struct lt_call lt_describe(const struct lt_problem *p);
void lt_forget(struct lt_call *c);

/* Multiplies the operands in lt_memory with the first algorithm offered. */
cublasStatus_t lt_run(const struct lt_problem *p);

#endif
