/*
 * cuBLASLt's descriptors as plain data, and what a GEMM needs of them.
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
    int64_t ld, offset; /* to the next matrix of the batch, elements */
    int64_t plane;      /* must stay 0, as batch_mode */
    int32_t batch_mode;
};

struct operation {
    uint32_t magic;
    int32_t compute, scale, pointer_mode, trans_a, trans_b, trans_c, fill, epilogue;
    int32_t bias_type, aux_type, sm_count; /* types: -1, the result's */
    void *bias, *aux;
    int64_t bias_stride, aux_ld, aux_stride;
};

struct preference {
    uint32_t magic;
    int32_t search, schemes, align[4]; /* of A, B, C, D */
    float waves;
    uint64_t workspace, implementations;
};

/* In the bytes of a cublasLtMatmulAlgo_t. */
struct algorithm {
    uint32_t magic;
    int32_t id;
    int32_t align[4]; /* that it counts on */
    uint64_t workspace;
    int32_t bias_align; /* the same; 0: there may be none */
};

enum {
    MAGIC_HANDLE = 0x6c746831,
    MAGIC_LAYOUT,
    MAGIC_OPERATION,
    MAGIC_PREFERENCE,
    MAGIC_ALGORITHM
};

/* One product: everything that is known when it is asked for. */
struct matmul {
    struct operation op;
    struct layout a, b, c, d;
    const void *alpha, *beta; /* NULL: the numbers below */
    float alpha_value, beta_value;
    const void *pa, *pb, *pc;
    void *pd, *workspace;
    uint64_t workspace_size; /* that the algorithm uses */
};

bool epilogue_has_bias(int e);  /* adds one */
bool epilogue_has_bgrad(int e); /* writes one */
bool epilogue_has_aux(int e);

/* check.c: SUCCESS, or why there is no such product. */
cublasStatus_t product_check(const struct matmul *p);
int64_t element_size(int type);

/* The bytes from the first to the last element of all matrices. */
int64_t layout_span(const struct layout *l);

/* compute.c */
void product_compute(const struct matmul *p);

#endif
