/*
 * Attention of queries to the keys and values of other tokens, or with a bias of its own per
 * pair of tokens: two products and a softmax of stored scores. ops/window_attention.h is
 * faster for tokens that attend to each other.
 */
#ifndef MODELS_ATTEND_H
#define MODELS_ATTEND_H

#include "graph/graph.h"

struct attend_attrs {
    const char *prefix; /* layers are prefix.scores, prefix.softmax, ... */
    int heads;
    struct tensor *bias; /* fp32 [1,heads,queries,keys], added to all images; or NULL */
};

/* Returns softmax(q k' / sqrt(C / heads) + bias) v with the dims of q. q is plain [N,...,C], k
 * and v are plain [N,...,C] with other numbers of tokens; heads lie next to each other. */
#define attend(b, q, k, v, ...)                                                          \
    attend_((b), (q), (k), (v), &(const struct attend_attrs){.prefix = __VA_ARGS__})
struct tensor *attend_(struct builder *b, struct tensor *q, struct tensor *k,
                       struct tensor *v, const struct attend_attrs *a);

/* Returns part `part` of `parts` equal parts of the last dim of x. */
struct tensor *attend_part(struct builder *b, struct tensor *x, const char *layer,
                           int part, int parts);

#endif
