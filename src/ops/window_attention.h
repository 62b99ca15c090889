/*
 * window_attention: multi-head self-attention among the tokens of each window of a map.
 *
 *   x = window_attention(&b, qkv, "layers.0.blocks.1.attn", .heads = 3, .window_h = 7,
 *                        .window_w = 7, .shift_h = 3, .shift_w = 3, .table = t, .pad = p)
 *
 * qkv is plain [B,H,W,3C]: features [q | k | v], each [head][C / heads]. The result is
 * plain [B,H,W,C] with the heads next to each other. Of each window and head, with i and j
 * its tokens,
 *
 *   y_i = sum_j m_ij a_ij v_j,   a_i = softmax over j of s_ij,
 *   s_ij = scale q_i . k_j + table[offset(i, j)][head] + mask_ij,
 *
 * with m from dropout (ops/dropout_formula.h; 1 without). Roll, padding, partition and
 * the way back are part of the op (ops/window_grid.h): the map is rolled by the shift,
 * then padded below and on the right to whole windows. A padded token takes part as key
 * and value; its q, k and v are `pad` (the bias of the qkv layer: what that makes of
 * zeros), or zeros. mask is -100 between tokens that only the roll made neighbors, else
 * 0. This is timm's SwinTransformerBlock (huggingface/pytorch-image-models: timm/models/
 * swin_transformer.py, swin_transformer_v2.py). ViT is the case of one window: [B,1,N,3C]
 * and a window of 0.
 *
 * With logit_scale it is SwinV2's cosine attention (Liu et al. 2021, arXiv 2111.09883,
 * section 3.2): q_i and k_j are divided by their norms (not less than 1e-12), and scale
 * is exp(min(logit_scale[head], ln 100)); above ln 100 logit_scale has no gradient.
 *
 * Scores are never stored: of the forward pass the log of each softmax's sum is kept, and
 * the gradient computes them again. Softmax and norms are fp32 even if qkv is 16-bit.
 */
#ifndef OPS_WINDOW_ATTENTION_H
#define OPS_WINDOW_ATTENTION_H

#include "graph/graph.h"
#include "ops/share.h"
#include "ops/window_grid.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Optional inputs after qkv; all but the control tensor are fp32. */
enum window_attention_option {
    WINDOW_ATTENTION_TABLE,       /* [(2 window_h - 1)(2 window_w - 1), heads] */
    WINDOW_ATTENTION_LOGIT_SCALE, /* [heads,1,1] */
    WINDOW_ATTENTION_PAD,         /* [3C] */
    WINDOW_ATTENTION_CONTROL,     /* for dropout */
    WINDOW_ATTENTION_OPTIONS
};

struct window_attention_attrs {
    const char *layer;
    int heads;              /* 0: 1; never 0 in a node */
    int window_h, window_w; /* 0: the whole map; never 0 in a node */
    int shift_h, shift_w;   /* less than the window */
    float scale;            /* 0: 1 / sqrt(C / heads); never 0 in a node */
    float dropout;          /* rate, in [0, 1); 0 in a node outside of training */
    /* Optional. The builder turns them into inputs; in a node these are NULL. */
    struct tensor *table, *logit_scale, *pad;
    int has;  /* set by the builder: one bit per window_attention_option */
    int salt; /* set by the builder: of the dropout mask */
    struct share share; /* set by the builder: of the images */
};

/* Maximum head size and tokens per window. */
enum { WINDOW_ATTENTION_HEAD = 256, WINDOW_ATTENTION_TOKENS = 4096 };

/* y [B,H,W,C]; lse fp32 [B,H,W,heads]: log sum_j exp s_ij. Then the options. */
enum { WINDOW_ATTENTION_QKV, WINDOW_ATTENTION_IN };
enum { WINDOW_ATTENTION_Y, WINDOW_ATTENTION_LSE };
/* Then the options. The gradient of an absent option has one element and no reader. */
enum {
    WINDOW_ATTENTION_GRAD_QKV,
    WINDOW_ATTENTION_GRAD_DY,
    WINDOW_ATTENTION_GRAD_LSE,
    WINDOW_ATTENTION_GRAD_IN
};
enum {
    WINDOW_ATTENTION_GRAD_DQKV, /* like qkv */
    WINDOW_ATTENTION_GRAD_DTABLE,
    WINDOW_ATTENTION_GRAD_DLOGIT_SCALE,
    WINDOW_ATTENTION_GRAD_DPAD, /* all fp32 */
    WINDOW_ATTENTION_GRAD_OUT
};

#define window_attention(b, qkv, ...)                                                    \
    window_attention_((b), (qkv),                                                        \
                      &(const struct window_attention_attrs){.layer = __VA_ARGS__})
struct tensor *window_attention_(struct builder *b, struct tensor *qkv,
                                 const struct window_attention_attrs *a);

extern const struct op op_window_attention, op_window_attention_grad;

/* ---- for kernels, with nodes of either op ---- */

/* Returns the input slot of an option, or -1 if it is absent. */
int window_attention_slot(const struct node *n, enum window_attention_option o);

struct window_attention_size {
    struct window_grid grid;
    int64_t images, pixels;    /* pixels of one map */
    int heads, head, channels; /* head: C / heads */
    int windows, tokens;       /* of one map; of one window */
};
struct window_attention_size window_attention_size(const struct node *n);

#ifdef __cplusplus
}
#endif

#endif
