/*
 * Prepending and selecting tokens; x is plain [B,N,C].
 *
 *   prepend_token   tokens [1,K,C] (a parameter, fp32) before the N of each sample:
 *                  [B,K+N,C]; their gradient is op_batch_sum (ops/position.h) of
 *                  dy[:,0:K,:]
 *   slice_tokens    tokens first, ..., first + len - 1: [B,len,C]
 *   select_token    one of them without its dim: [B,C]
 *
 * The last two are copies (ops/strided_copy.h).
 */
#ifndef OPS_TOKENS_H
#define OPS_TOKENS_H

#include "graph/graph.h"

enum { PREPEND_TOKEN_X, PREPEND_TOKEN_TOKEN };

struct tensor *prepend_token(struct builder *b, struct tensor *x, struct tensor *token,
                             const char *layer);
struct tensor *slice_tokens(struct builder *b, struct tensor *x, int first, int len,
                            const char *layer);
struct tensor *select_token(struct builder *b, struct tensor *x, int i,
                            const char *layer);

extern const struct op op_prepend_token;

#endif
