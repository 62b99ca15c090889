/*
 * Attention among the tokens of an image as an operation graph: the individual operations
 * that cuDNN's fused attention engines expect, as in NVIDIA's cudnn-frontend
 * (node/scaled_dot_product_flash_attention.h, "composite"); every cuDNN 9 supports them.
 * Tensors are [images, heads, tokens, features] by their strides, so q, k, and v are
 * views of qkv, the heads of the result are adjacent, and nothing is copied.
 *
 *   forward    S = scale q k^T; y = softmax(S) v; lse = log of the softmax's sums
 *   gradient   P = exp(S - lse); dv = P^T dy; delta = sum over features of y dy;
 *              dS = P (dy v^T - delta) scale; dk = dS^T q; dq = dS k
 *
 * lse and delta are fp32 [images, heads, tokens]: engines for Ampere before cuDNN 9.26
 * assume these strides, whatever the descriptor says.
 */
#ifndef CUDA_CUDNN_ATTENTION_H
#define CUDA_CUDNN_ATTENTION_H

#include "cuda/cudnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cudnn_attention {
    int64_t images, heads, tokens, head; /* head: features per head, a multiple of 8 */
    enum dtype type;                     /* fp16 or bf16 */
    float scale;
    /* gradient: one block sums dq in a fixed order; otherwise several blocks sum it in
     * fp32, in dq_sum, with atomics */
    bool in_order;
    /* gradient: use a padding mask that masks nothing; see cuda/attention_cudnn.c */
    bool masked;
};

/* The role of a real tensor of the graph. */
enum cudnn_attention_part {
    CUDNN_ATTENTION_VALUE, /* passed by value: stored in the graph */
    CUDNN_ATTENTION_Q,     /* in qkv */
    CUDNN_ATTENTION_K,
    CUDNN_ATTENTION_V,
    CUDNN_ATTENTION_Y, /* in y */
    CUDNN_ATTENTION_DY,
    CUDNN_ATTENTION_DQ, /* in dqkv */
    CUDNN_ATTENTION_DK,
    CUDNN_ATTENTION_DV,
    /* fp32, in the workspace */
    CUDNN_ATTENTION_LSE,
    CUDNN_ATTENTION_DELTA,
    CUDNN_ATTENTION_DQ_SUM,
    CUDNN_ATTENTION_LENGTHS, /* int32 [images]: number of tokens of each */
    CUDNN_ATTENTION_PARTS
};

/* part[i]: role of tensor i of the graph; *g must be zeroed by the caller. */
void cudnn_attention_forward(const struct cudnn_attention *a, struct cudnn_graph *g,
                             enum cudnn_attention_part *part);
void cudnn_attention_gradient(const struct cudnn_attention *a, struct cudnn_graph *g,
                              enum cudnn_attention_part *part);

#ifdef __cplusplus
}
#endif

#endif
