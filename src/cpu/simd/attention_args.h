/*
 * Arguments of the loops of attention and of small GEMMs (cpu/simd/loops.h,
 * attention.inc).
 */
#ifndef CPU_SIMD_ATTENTION_ARGS_H
#define CPU_SIMD_ATTENTION_ARGS_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/tensor.h"

struct dropout_key;

/*
 * y[i][j] (+)= sum over d of a(i, d) b[d][j], with a(i, d) = a[i a_row + d a_depth], one
 * of which is 1. Columns are a multiple of LANES; b is in panels of 2 LANES columns,
 * `b_panel` floats apart, with `b_depth` floats between rows. (A matrix whose rows have
 * at least 2 LANES floats is a set of panels, too: b_panel = 2 LANES, b_depth = the row
 * length.)
 */
struct matmul {
    int rows, cols, depth;
    const float *a, *b;
    int64_t a_row, a_depth, b_depth, b_panel, y_row;
    float *y;
    bool add;
};

/*
 * The network of coordinates of ops/cpb_table.h, with its weights separated: w0
 * [2][hidden].
 */
struct cpb {
    int64_t rows;
    int hidden, heads;         /* hidden: a multiple of LANES */
    const float *coordinate;   /* [rows][2] */
    const float *w0, *b0, *w2; /* w2 [heads][hidden] */
    float *z;                  /* [rows][heads]; in the gradient: gradient of z */
    float *dw0, *db0, *dw2;    /* dw0 [hidden][2] */
};

/*
 * One head of one window of one image (ops/window_attention.h). Tokens are all tokens of
 * the window; queries are those that are not padding. Adjacent pixels are `row` elements
 * apart in qkv, `channels` in y, and `heads` in lse; pointers are to pixel 0 of the image
 * and to the head's q, results, and lse.
 */
struct attention {
    enum dtype t; /* of qkv, y, dy and dqkv */
    int tokens, queries, head;
    bool cosine;
    float scale;
    const int *pixel;    /* per token; -1: padding */
    const int *query;    /* the token of each query */
    const int *prefetch; /* pixels of the next window, to prefetch; or NULL */
    int64_t row, channels, heads;
    const void *qkv, *ahead_qkv;
    const float *pad;    /* q of padding, with k and v as in qkv; NULL: zeros */
    const float *bias;   /* [tokens][keys] or NULL; keys: tokens rounded up to LANES */
    const float *region; /* [keys]: per token; NULL: no mask */
    const struct dropout_key *key; /* may be NULL */
    int64_t first;                 /* dropout's row for pixel 0 and this head */
    void *y;
    float *lse; /* output, may be NULL; input of the gradient */

    /* Only for the gradient. Sums are accumulated. */
    const void *dy, *ahead_dy;
    void *dqkv;
    float *dbias;  /* [tokens][keys] or NULL */
    float *dscale; /* of the logarithm of `scale`; or NULL */
    float *dpad;   /* [3][head] or NULL */

    float *scratch; /* attention_scratch() floats, aligned to 64 bytes */
};

/*
 * The scratch memory: q, k, v, and dy in rows of whole vectors; k and v transposed, in
 * panels of 2 LANES keys; scores of a block of queries; results of a block and of a
 * window.
 */
enum { ATTENTION_BLOCK = 4096 }; /* approximate number of scores in a block of queries */
struct attention_room {
    int keys, features;              /* tokens and head, rounded up to LANES */
    int block;                       /* queries per block */
    float *q, *k, *v, *dy, *kt, *vt; /* [tokens][features]; [panel][head][2 LANES] */
    float *s, *ds;                   /* [block][keys] */
    float *y;                        /* [block][features]; in the gradient: dq */
    float *dk, *dv;                  /* [tokens][features] */
    float *q_norm, *k_norm;          /* [tokens]: 1 / norm */
    float *m;                        /* [lanes][keys]: dropout factors of queries */
    float *share;                    /* [block]: 1 / sum */
};

static inline int attention_keys(int lanes, int tokens)
{
    return (tokens + lanes - 1) / lanes * lanes;
}

/* Returns the next n floats, aligned to 64 bytes. */
static inline float *attention_carve(float *base, int64_t *pos, int64_t n)
{
    float *p = base ? base + *pos : NULL;

    *pos += (n + 15) / 16 * 16;
    return p;
}

/* Returns the number of floats needed; base may be NULL. */
static inline int64_t attention_room(struct attention_room *r, int lanes, int tokens,
                                     int head, bool gradient, float *base)
{
    int64_t rows, panels, scores, pos = 0;

    r->keys = attention_keys(lanes, tokens);
    r->features = attention_keys(lanes, head);
    r->block = ATTENTION_BLOCK / r->keys > 12 ? ATTENTION_BLOCK / r->keys : 12;
    r->block = r->block < tokens ? r->block : tokens;
    rows = (int64_t)tokens * r->features;
    panels = (r->keys + 2 * (int64_t)lanes - 1) / (2 * lanes) * 2 * lanes * head;
    scores = (int64_t)r->block * r->keys;
    r->q = attention_carve(base, &pos, rows);
    r->k = attention_carve(base, &pos, rows);
    r->v = attention_carve(base, &pos, rows);
    r->kt = attention_carve(base, &pos, panels);
    r->s = attention_carve(base, &pos, scores);
    r->y = attention_carve(base, &pos, (int64_t)r->block * r->features);
    r->q_norm = attention_carve(base, &pos, tokens);
    r->k_norm = attention_carve(base, &pos, tokens);
    r->m = attention_carve(base, &pos, (int64_t)lanes * r->keys);
    r->share = attention_carve(base, &pos, r->block);
    if (!gradient)
        return pos;
    r->dy = attention_carve(base, &pos, rows);
    r->vt = attention_carve(base, &pos, panels);
    r->ds = attention_carve(base, &pos, scores);
    r->dk = attention_carve(base, &pos, rows);
    r->dv = attention_carve(base, &pos, rows);
    return pos;
}

#endif
