/*
 * cuBLASLt's descriptors as plain data, and a GEMM computed from them.
 */
#ifndef EMULATOR_CUBLASLT_MATMUL_H
#define EMULATOR_CUBLASLT_MATMUL_H

#include <cublasLt.h>
#include <stdbool.h>
#include <stdint.h>

struct layout {
    uint32_t magic;
    int32_t type, order, batch;
    uint64_t rows, cols;
    int64_t ld, offset; /* offset: elements between matrices of the batch */
    int64_t plane;      /* must be 0, like batch_mode */
    int32_t batch_mode;
};

struct operation {
    uint32_t magic;
    int32_t compute, scale, pointer_mode, trans_a, trans_b, trans_c, fill, epilogue;
    int32_t bias_type, aux_type, sm_count; /* types; -1: the type of the result */
    void *bias, *aux;
    int64_t bias_stride, aux_ld, aux_stride;
};

struct preference {
    uint32_t magic;
    int32_t search, schemes, align[4]; /* for A, B, C, D */
    float waves;
    uint64_t workspace, implementations;
};

/* Stored in the bytes of a cublasLtMatmulAlgo_t. */
struct algorithm {
    uint32_t magic;
    int32_t id;
    int32_t align[4]; /* required alignment */
    uint64_t workspace;
    int32_t bias_align; /* likewise; 0: no bias allowed */
};

enum {
    MAGIC_HANDLE = 0x6c746831,
    MAGIC_LAYOUT,
    MAGIC_OPERATION,
    MAGIC_PREFERENCE,
    MAGIC_ALGORITHM
};

/* One GEMM: everything known at the call. */
struct matmul {
    struct operation op;
    struct layout a, b, c, d;
    const void *alpha, *beta; /* NULL: use the numbers below */
    float alpha_value, beta_value;
    const void *pa, *pb, *pc;
    void *pd, *workspace;
    uint64_t workspace_size; /* used by the algorithm */
};

bool epilogue_has_bias(int e);  /* adds a bias */
bool epilogue_has_bgrad(int e); /* writes a bias gradient */
bool epilogue_has_aux(int e);

/* check.c: returns SUCCESS, or why there is no such GEMM. */
cublasStatus_t product_check(const struct matmul *p);
int64_t element_size(int type);

/* Returns the bytes from the first to the last element of all matrices. */
int64_t layout_span(const struct layout *l);

/* compute.c */
void product_compute(const struct matmul *p);

#endif
