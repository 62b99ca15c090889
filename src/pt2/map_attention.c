/*
 * Attention of q, k, and v that are one tensor: [B,N,3,heads,head], as a linear layer
 * writes it, which is the operand of window_attention with one window.
 */
#include <math.h>

#include "ops/window_attention.h"
#include "pt2/place.h"
#include "pt2/table.h"

/* True if v [B,heads,N,head] is part `i` of [B,N,3,heads,head] at the start of v->t. */
static bool is_part(const struct pt2_value *v, int i)
{
    int64_t channels = v->dim[1] * v->dim[3];

    return v->ndim == 4 && v->t && tensor_len(v->t) == 3 * pt2_value_len(v) &&
           v->offset == i * channels && (v->dim[3] == 1 || v->stride[3] == 1) &&
           (v->dim[1] == 1 || v->stride[1] == v->dim[3]) &&
           (v->dim[2] == 1 || v->stride[2] == 3 * channels) &&
           (v->dim[0] == 1 || v->stride[0] == 3 * channels * v->dim[2]);
}

void pt2_map_attention(struct pt2_import *c)
{
    const struct pt2_value *q = pt2_tensor(c, "query"), *k = pt2_tensor(c, "key"),
                           *v = pt2_tensor(c, "value");
    struct window_attention_attrs a = {
        .dropout = (float)pt2_number(c, "dropout_p", 0),
        .scale = (float)pt2_number(c, "scale", 0),
    };
    static const int order[] = {0, 2, 1, 3}; /* of the result [B,heads,N,head] */
    struct pt2_value y = *q;
    struct tensor *x;

    if (pt2_has(c, "attn_mask") || pt2_flag(c, "is_causal", false) ||
        pt2_flag(c, "enable_gqa", false))
        pt2_refuse(c, "attention with a mask");
    pt2_ignore(c, "attn_mask");
    if (!c->why->len && (q->t != k->t || q->t != v->t || !is_part(q, 0) ||
                         !is_part(k, 1) || !is_part(v, 2)))
        pt2_refuse(c, "attention whose query, key, and value are not parts of one "
                      "tensor [B, N, 3, heads, channels]");
    if (c->why->len)
        return;
    if (q->dim[3] > WINDOW_ATTENTION_HEAD || q->dim[2] > WINDOW_ATTENTION_TOKENS) {
        pt2_refuse(c, "attention of more than %d channels or %d tokens",
                   (int)WINDOW_ATTENTION_HEAD, (int)WINDOW_ATTENTION_TOKENS);
        return;
    }
    x = pt2_view_of(
        c, q->t, LAYOUT_PLAIN, 4,
        (const int64_t[]){q->dim[0], 1, q->dim[2], 3 * q->dim[1] * q->dim[3]});
    a.heads = (int)q->dim[1];
    a.layer = pt2_layer(c);
    y.t = window_attention_(c->b, x, &a);
    pt2_value_store(&y, order);
    pt2_result(c, y);
}
