/*
 * Prepending and selecting tokens; x is plain [B,N,C].
 *
 *   prepend_token   tokens [1,K,C] (a parameter, fp32) before the N of each sample:
 *                  [B,K+N,C]; their gradient is op_batch_sum (ops/position.h) of
 *                  dy[:,0:K,:]
 *   slice_tokens    tokens from, ..., from + len - 1: [B,len,C]
 *   select_token    one of them without its dim: [B,C]
 */
#ifndef OPS_TOKENS_H
#define OPS_TOKENS_H

#include "graph/graph.h"

struct slice_tokens_attrs {
    const char *layer;
    int first, len;
    int flat;   /* 1: [B,C], and len is 1 */
    int tokens; /* set by the builder: N of x */
};

enum { PREPEND_TOKEN_X, PREPEND_TOKEN_TOKEN };
enum { SLICE_TOKENS_X };
enum { SLICE_TOKENS_GRAD_DY }; /* dx [B,tokens,C]: dy, surrounded by zeros */

struct tensor *prepend_token(struct builder *b, struct tensor *x, struct tensor *token,
                             const char *layer);
struct tensor *slice_tokens(struct builder *b, struct tensor *x, int start, int len,
                            const char *layer);
struct tensor *select_token(struct builder *b, struct tensor *x, int i,
                            const char *layer);

extern const struct op op_prepend_token, op_slice_tokens, op_slice_tokens_grad;

#endif
