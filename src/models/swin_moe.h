/*
 * Swin-MoE (Hwang et al. 2022, arXiv 2206.03382) as in Microsoft's
 * models/swin_transformer_moe.py: Swin v1 with SwinV2's table of position biases, without
 * its sigmoid, and blocks whose MLP is a mixture of experts as in Tutel (ops/moe_route.h).
 *
 * A token is routed by its score for each expert, the softmax of gate logits: a linear
 * layer, or with COSINE_ROUTER the cosine between its projection and a column per expert,
 * times exp(min(temperature, log 100)). In training, noise of deviation GATE_NOISE /
 * experts is added to them. With T tokens in a batch, an expert takes
 *
 *   capacity = TOP_VALUE * floor(CAPACITY_FACTOR * ceil(T / experts))
 *
 * of them, rounded up to a multiple of -NUM_LOCAL_EXPERTS if that is positive. A factor of
 * 0 drops none; a negative one counts as its absolute value, as the capacity is static.
 * Routing is fp32.
 *
 * Every process routes its own batch and has all experts, or with graph_share_experts() its
 * share of them, to which all processes send their tokens (ops/all_to_all.h), as in Tutel.
 * The results are the same: experts get the same tokens from the same processes, and their
 * gradients are means over processes.
 *
 * In training, a family's balance loss (models/stages.h) is the sum over blocks of
 * GShard's, experts / T^2 sum over e of (sum over t of score[t, e]) first[e], or of the
 * mean of the importance and the load loss of Shazeer et al. 2017 (arXiv 1701.06538).
 */
#ifndef MODELS_SWIN_MOE_H
#define MODELS_SWIN_MOE_H

#include "models/swin_net.h"

struct swin_moe_options {
    struct swin_options swin; /* first: swin_net() reads only this */
    bool mlp_fc2_bias;
    double init_std;
    struct int_table moe_blocks;
    int64_t num_experts, num_local_experts, top_value;
    double capacity_factor;
    bool cosine_router, normalize_gate, use_bpr, is_gshard_loss;
    double gate_noise;
    int64_t cosine_router_dim;
    double cosine_router_init_t, moe_drop, aux_loss_weight;
};

extern const struct model_family swin_moe_family;

/* Returns the experts of a block: NUM_EXPERTS, or NUM_LOCAL_EXPERTS times the number of
 * processes; negative, processes / -NUM_LOCAL_EXPERTS; 0 if that is no number. */
int64_t swin_moe_experts(const struct swin_moe_options *o, int64_t processes);

/* Returns how many of `tokens` tokens an expert takes; 0: none, which cannot be. */
int64_t swin_moe_capacity(const struct swin_moe_options *o, int64_t tokens,
                          int64_t experts);

/* Adds an MLP of experts to the block `block` and its loss to s->balance. */
struct tensor *swin_moe_mlp(struct swin *s, struct tensor *x,
                            const struct swin_block *block);

/* Layer names, as a shell pattern, that are fp32 in mixed precision: gates and losses. */
#define SWIN_MOE_GATES "*._moe_layer.gates.*"

#endif
