/*
 * gram: second moments of the channels of an image over its M = N*H*W positions h:
 *
 *   gram[i,j] = sum of h_i h_j      sum[i] = sum of h_i
 *
 * They determine mean and variance of every linear function of the channels, such as a
 * 1x1 convolution (ops/norm_fold.h).
 *
 *   struct tensor **m = gram(b, h, "conv3");   gram [C,C], sum [C], both fp32
 *
 * The gradient is dh = h (dgram + dgram^T) + dsum. Kernels for fp16 multiply dgram + dgram^T
 * by GRAM_GRAD_SCALE before they round it and divide the product again: its elements are
 * gradients divided by M and would underflow.
 */
#ifndef OPS_GRAM_H
#define OPS_GRAM_H

#include "graph/graph.h"

#define GRAM_GRAD_SCALE 1024.0f

enum { GRAM_X };
enum { GRAM_GRAM, GRAM_SUM };

/* dgram and dsum: fp32 */
enum { GRAM_GRAD_X, GRAM_GRAD_DGRAM, GRAM_GRAD_DSUM };

struct tensor **gram(struct builder *b, struct tensor *x, const char *layer);

extern const struct op op_gram, op_gram_grad;

#endif
