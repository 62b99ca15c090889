/*
 * qkv_bias: the bias of a qkv layer whose keys have none (SwinV2): fp32 [3C] = [q_bias |
 * 0 | v_bias].
 *
 *   bias = qkv_bias(&b, q_bias, v_bias, "layers.0.blocks.0.attn")
 */
#ifndef OPS_QKV_BIAS_H
#define OPS_QKV_BIAS_H

#include "graph/graph.h"

enum { QKV_BIAS_Q, QKV_BIAS_V }; /* vectors of the same length */
/* d: the gradient of the result; out: those of q and v, in the order of the inputs */
enum { QKV_BIAS_GRAD_D };

struct tensor *qkv_bias(struct builder *b, struct tensor *q_bias, struct tensor *v_bias,
                        const char *layer);

extern const struct op op_qkv_bias, op_qkv_bias_grad;

#endif
