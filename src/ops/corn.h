/*
 * corn: log probabilities of K ordered classes from K - 1 logits, the conditional ordinal
 * regression of Shi, Cao, and Raschka 2023 (CORN, arXiv 2111.08851). Logit z_k is that of
 * P(class > k, given class >= k), so that P(class > k) falls with k by construction:
 *
 *   log P(class = k) = sum_{j < k} log sigmoid(z_j) + log sigmoid(-z_k)
 *   log P(class = K - 1) = sum_j log sigmoid(z_j)
 *
 * The paper's loss is the cross entropy of these probabilities, summed over a batch: task k
 * sees the samples of class k and above, with the binary target class > k. The paper
 * divides the sum by the number of (sample, task) pairs; cross_entropy divides it by the
 * number of samples, which does not depend on the classes in a batch, so that batches of an
 * update and of several ranks weigh the same.
 *
 * logits fp32 [N, K - 1]; log probabilities fp32 [N, K]. Always fp32.
 */
#ifndef OPS_CORN_H
#define OPS_CORN_H

#include "graph/graph.h"

enum { CORN_LOGITS };
enum { CORN_GRAD_LOGITS, CORN_GRAD_DY };

struct tensor *corn(struct builder *b, struct tensor *logits, const char *layer);

extern const struct op op_corn, op_corn_grad;

#endif
