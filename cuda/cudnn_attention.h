/*
 * Attention among the tokens of an image as an operation graph: the operations that
 * cuDNN's fused engines of attention expect, spelled out, as NVIDIA's cudnn-frontend has
 * them (node/scaled_dot_product_flash_attention.h, "composite"); every cuDNN 9 knows
 * them. Tensors are [images, heads, tokens, features] by their strides, so q, k and v lie
 * in qkv and the result's heads beside each other, and nothing is copied.
 *
 *   forward    S = scale q k^T; y = softmax(S) v; lse = log of the softmax's sums
 *   gradient   P = exp(S - lse); dv = P^T dy; delta = sum over features of y dy;
 *              dS = P (dy v^T - delta) scale; dk = dS^T q; dq = dS k
 *
 * lse and delta are fp32 [images, heads, tokens]: engines for Ampere before cuDNN 9.26
 * take no other strides, whatever they are told.
 */
#ifndef CUDA_CUDNN_ATTENTION_H
#define CUDA_CUDNN_ATTENTION_H

#include "cuda/cudnn_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct cudnn_attention {
    int64_t images, heads, tokens, head; /* head: features of one, a multiple of 8 */
    enum dtype type;                     /* fp16 or bf16 */
    float scale;
    bool in_order; /* of the gradient: dq is summed by one block, always in one order;
                    * else by several, in fp32 in dq_sum, by atomics */
    bool masked;   /* of the gradient: the mask of padding, with no padding; see
                    * cuda/attention_cudnn.c */
};

/* What a real tensor of the graph is. */
enum cudnn_attention_part {
    CUDNN_ATTENTION_VALUE, /* by value: the graph has it */
    CUDNN_ATTENTION_Q,     /* in qkv */
    CUDNN_ATTENTION_K,
    CUDNN_ATTENTION_V,
    CUDNN_ATTENTION_Y, /* in y */
    CUDNN_ATTENTION_DY,
    CUDNN_ATTENTION_DQ, /* in dqkv */
    CUDNN_ATTENTION_DK,
    CUDNN_ATTENTION_DV,
    /* fp32, of the workspace */
    CUDNN_ATTENTION_LSE,
    CUDNN_ATTENTION_DELTA,
    CUDNN_ATTENTION_DQ_SUM,
    CUDNN_ATTENTION_LENGTHS, /* int32 [images]: tokens, of each */
    CUDNN_ATTENTION_PARTS
};

/* part[i]: of tensor i of the graph, which is zeroed before. */
void cudnn_attention_forward(const struct cudnn_attention *a, struct cudnn_graph *g,
                             enum cudnn_attention_part *part);
void cudnn_attention_gradient(const struct cudnn_attention *a, struct cudnn_graph *g,
                              enum cudnn_attention_part *part);

#ifdef __cplusplus
}
#endif

#endif
