/*
 * Attention and token mixing (Swin-MLP) within windows. A map [B,H,W,...] is rolled,
 * padded, and cut into windows [B, windows, heads, tokens, head], where `head` is the
 * number of features per head. Scores are [B, windows, heads, tokens, tokens]; biases and
 * masks, which do not depend on the image, are added to them.
 */
#include <math.h>

#include "onnx/convert.h"
#include "ops/cpb_table.h"
#include "ops/linear.h"
#include "ops/qkv_bias.h"
#include "ops/window_attention.h"
#include "ops/window_mix.h"

/* Rolls axis `axis`, of length `len`, so that element `shift` comes first. */
static const char *roll(struct convert *c, const char *v, int axis, int64_t shift,
                        int64_t len)
{
    if (shift == 0)
        return v;
    return convert_concat(c, axis,
                          ONNX_IN(convert_slice(c, v, axis, shift, len, 1),
                                  convert_slice(c, v, axis, 0, shift, 1)));
}

/* Pads the map [B, height, width, C] with zeros up to whole windows. */
static const char *pad(struct convert *c, const char *v, const struct window_grid *g)
{
    const int64_t below = g->rows * g->window_h - g->height - g->pad_top;
    const int64_t right = g->columns * g->window_w - g->width - g->pad_left;

    return convert_pad(
        c, v, 4, (const int64_t[]){0, g->pad_top, g->pad_left, 0, 0, below, right, 0});
}

/* Removes the rows and columns that pad() added. */
static const char *unpad(struct convert *c, const char *v, const struct window_grid *g)
{
    if (g->rows * g->window_h != g->height)
        v = convert_slice(c, v, 1, g->pad_top, g->pad_top + g->height, 1);
    if (g->columns * g->window_w != g->width)
        v = convert_slice(c, v, 2, g->pad_left, g->pad_left + g->width, 1);
    return v;
}

/* [B, windows, heads, tokens, head] -> map [B, rows, columns, heads * head] */
static const char *to_map(struct convert *c, const char *v, const struct window_grid *g,
                          int heads, int head)
{
    v = convert_reshape(
        c, v,
        CONVERT_DIMS(-1, g->rows, g->columns, heads, g->window_h, g->window_w, head));
    v = convert_transpose(c, v, CONVERT_DIMS(0, 1, 4, 2, 5, 3, 6));
    return convert_reshape(c, v,
                           CONVERT_DIMS(-1, (int64_t)g->rows * g->window_h,
                                        (int64_t)g->columns * g->window_w,
                                        (int64_t)heads * head));
}

/* Adds the node's WINDOW_ATTENTION_PAD input (the bias of q, k, and v), if it has one, to
 * the padded tokens, which are zero in v [B, H, W, C] and lie below and to the right. */
static const char *add_padding(struct convert *c, const struct node *n, const char *v,
                               const struct window_grid *g)
{
    int slot = window_attention_slot(n, WINDOW_ATTENTION_PAD);
    const int64_t dim[] = {1, (int64_t)g->rows * g->window_h,
                           (int64_t)g->columns * g->window_w, 1};
    float *outside;

    if (slot < 0 || (dim[1] == g->height && dim[2] == g->width))
        return v;
    outside = arena_new(c->mem, (size_t)(dim[1] * dim[2]) * sizeof(*outside));
    for (int64_t y = 0; y < dim[1]; y++)
        for (int64_t x = 0; x < dim[2]; x++)
            outside[y * dim[2] + x] = y >= g->height || x >= g->width;
    return onnx_node(
        c->x, "Add",
        ONNX_IN(
            v, onnx_node(
                   c->x, "Mul",
                   ONNX_IN(onnx_tensor(c->x, arena_printf(c->mem, "%s.outside", n->layer),
                                       ONNX_FLOAT, 4, dim, outside),
                           convert_value(c, n->in[slot])))));
}

/* Splits v [B, H, W, 3 C] into q, k, and v, each [B, windows, heads, tokens, head]. */
static void split(struct convert *c, const char *v, const struct window_attention_size *s,
                  const char *part[3])
{
    const struct window_grid *g = &s->grid;

    v = convert_reshape(c, v,
                        CONVERT_DIMS(-1, g->rows, g->window_h, g->columns, g->window_w, 3,
                                     s->heads, s->head));
    v = convert_transpose(c, v, CONVERT_DIMS(5, 0, 1, 3, 6, 2, 4, 7));
    v = convert_reshape(c, v,
                        CONVERT_DIMS(3, -1, s->windows, s->heads, s->tokens, s->head));
    for (int i = 0; i < 3; i++) {
        part[i] = convert_slice(c, v, 0, i, i + 1, 1);
        part[i] = onnx_node(c->x, "Squeeze",
                            ONNX_IN(part[i], onnx_int64s(c->x, CONVERT_DIMS(0))));
    }
}

/* Divides v by its L2 norm over the last dim, at least 1e-12, as
 * torch.nn.functional.normalize does. */
static const char *unit(struct convert *c, const char *v)
{
    const int64_t last = -1;
    const char *norm = onnx_node(c->x, "ReduceL2", ONNX_IN(v));

    onnx_ints(c->x, "axes", 1, &last);
    onnx_int(c->x, "keepdims", 1);
    norm = onnx_node(c->x, "Max", ONNX_IN(norm, onnx_scalar(c->x, 1e-12f)));
    return onnx_node(c->x, "Div", ONNX_IN(v, norm));
}

/* Returns scale q k^T; with WINDOW_ATTENTION_LOGIT_SCALE (Swin v2) the cosines of q and
 * k, times exp(min(logit scale, log 100)). */
static const char *scores(struct convert *c, const struct node *n, const char *q,
                          const char *k)
{
    const struct window_attention_attrs *a = n->attrs;
    int slot = window_attention_slot(n, WINDOW_ATTENTION_LOGIT_SCALE);
    const char *scale;

    if (slot < 0) {
        q = onnx_node(c->x, "Mul", ONNX_IN(q, onnx_scalar(c->x, a->scale)));
        k = convert_transpose(c, k, CONVERT_DIMS(0, 1, 2, 4, 3));
        return onnx_node(c->x, "MatMul", ONNX_IN(q, k));
    }
    k = convert_transpose(c, unit(c, k), CONVERT_DIMS(0, 1, 2, 4, 3));
    scale = onnx_node(
        c->x, "Min",
        ONNX_IN(convert_value(c, n->in[slot]), onnx_scalar(c->x, (float)log(100))));
    scale = onnx_node(c->x, "Exp", ONNX_IN(scale));
    return onnx_node(c->x, "Mul",
                     ONNX_IN(onnx_node(c->x, "MatMul", ONNX_IN(unit(c, q), k)), scale));
}

/* Adds to the scores z the table's row of each token pair, [heads, tokens, tokens]. */
static const char *position_bias(struct convert *c, const struct node *n, const char *z,
                                 const struct window_attention_size *s)
{
    int slot = window_attention_slot(n, WINDOW_ATTENTION_TABLE);
    const int64_t dim[] = {s->tokens, s->tokens};
    const char *bias;
    int32_t *row;

    if (slot < 0)
        return z;
    row = arena_new(c->mem, (size_t)(dim[0] * dim[1]) * sizeof(*row));
    for (int i = 0; i < s->tokens; i++)
        for (int j = 0; j < s->tokens; j++)
            row[i * s->tokens + j] = window_grid_offset(&s->grid, i, j);
    bias = onnx_node(
        c->x, "Gather",
        ONNX_IN(convert_value(c, n->in[slot]),
                onnx_tensor(c->x,
                            arena_printf(c->mem, "%s.relative_position_index", n->layer),
                            ONNX_INT32, 2, dim, row)));
    bias = convert_transpose(c, bias, CONVERT_DIMS(2, 0, 1));
    return onnx_node(c->x, "Add", ONNX_IN(z, bias));
}

/* Adds -100 to the scores z between tokens that are neighbors only because of the roll:
 * [windows, 1, tokens, tokens]. */
static const char *roll_mask(struct convert *c, const struct node *n, const char *z,
                             const struct window_attention_size *s)
{
    const struct window_grid *g = &s->grid;
    const int64_t dim[] = {s->windows, 1, s->tokens, s->tokens};
    float *mask, *dst;

    if (!g->roll_h && !g->roll_w)
        return z;
    dst = mask = arena_new(c->mem, (size_t)(dim[0] * dim[2] * dim[3]) * sizeof(*mask));
    for (int w = 0; w < s->windows; w++)
        for (int i = 0; i < s->tokens; i++)
            for (int j = 0; j < s->tokens; j++)
                *dst++ =
                    window_grid_region(g, w, i) != window_grid_region(g, w, j) ? -100 : 0;
    return onnx_node(
        c->x, "Add",
        ONNX_IN(z, onnx_tensor(c->x, arena_printf(c->mem, "%s.attn_mask", n->layer),
                               ONNX_FLOAT, 4, dim, mask)));
}

const char *convert_window_attention(struct convert *c, const struct node *n)
{
    const struct window_attention_size s = window_attention_size(n);
    const struct window_grid *g = &s.grid;
    const char *v = convert_value(c, n->in[WINDOW_ATTENTION_QKV]), *part[3], *z;

    v = roll(c, v, 1, g->roll_h, g->height);
    v = roll(c, v, 2, g->roll_w, g->width);
    v = add_padding(c, n, pad(c, v, g), g);
    split(c, v, &s, part);
    z = scores(c, n, part[0], part[1]);
    z = roll_mask(c, n, position_bias(c, n, z, &s), &s);
    z = onnx_node(c->x, "Softmax", ONNX_IN(z));
    onnx_int(c->x, "axis", -1);
    v = to_map(c, onnx_node(c->x, "MatMul", ONNX_IN(z, part[2])), g, s.heads, s.head);
    v = unpad(c, v, g);
    v = roll(c, v, 2, g->roll_w ? g->width - g->roll_w : 0, g->width);
    return roll(c, v, 1, g->roll_h ? g->height - g->roll_h : 0, g->height);
}

const char *convert_cpb_table(struct convert *c, const struct node *n)
{
    const struct cpb_table_attrs *a = n->attrs;
    const int64_t dim[] = {n->out[0]->dim[0], 2};
    float *ptr = arena_new(c->mem, (size_t)(2 * dim[0]) * sizeof(*ptr));
    const char *v, *w;

    for (int64_t i = 0; i < dim[0]; i++)
        cpb_coordinates(a, (int)i, ptr + 2 * i);
    v = onnx_tensor(c->x, arena_printf(c->mem, "%s.relative_coords_table", n->layer),
                    ONNX_FLOAT, 2, dim, ptr);
    w = convert_transpose(c, convert_value(c, n->in[CPB_TABLE_W0]), CONVERT_DIMS(1, 0));
    v = onnx_node(c->x, "MatMul", ONNX_IN(v, w));
    v = onnx_node(c->x, "Add", ONNX_IN(v, convert_value(c, n->in[CPB_TABLE_B0])));
    v = onnx_node(c->x, "Relu", ONNX_IN(v));
    w = convert_transpose(c, convert_value(c, n->in[CPB_TABLE_W2]), CONVERT_DIMS(1, 0));
    v = onnx_node(c->x, "MatMul", ONNX_IN(v, w));
    v = onnx_node(c->x, "Sigmoid", ONNX_IN(v));
    return onnx_node(c->x, "Mul", ONNX_IN(v, onnx_scalar(c->x, CPB_SCALE)));
}

const char *convert_qkv_bias(struct convert *c, const struct node *n)
{
    const int64_t len = n->in[QKV_BIAS_Q]->dim[0];
    float *zero = arena_new(c->mem, (size_t)len * sizeof(*zero));
    const char *k = onnx_tensor(c->x, arena_printf(c->mem, "%s.zeros", n->layer),
                                ONNX_FLOAT, 1, &len, zero);

    return convert_concat(c, 0,
                          ONNX_IN(convert_value(c, n->in[QKV_BIAS_Q]), k,
                                  convert_value(c, n->in[QKV_BIAS_V])));
}

const char *convert_window_mix(struct convert *c, const struct node *n)
{
    const struct tensor *x = n->in[WINDOW_MIX_X];
    const struct window_mix_size s = window_mix_size(n->attrs, x);
    const struct window_grid *g = &s.grid;
    const char *v = pad(c, convert_value(c, x), g), *w, *b;

    v = convert_reshape(
        c, v,
        CONVERT_DIMS(-1, g->rows, g->window_h, g->columns, g->window_w, s.heads, s.head));
    v = convert_transpose(c, v, CONVERT_DIMS(0, 1, 3, 5, 2, 4, 6));
    v = convert_reshape(c, v, CONVERT_DIMS(-1, s.windows, s.heads, s.tokens, s.head));
    w = convert_reshape(c, convert_value(c, n->in[WINDOW_MIX_WEIGHT]),
                        CONVERT_DIMS(s.heads, s.tokens, s.tokens));
    b = convert_reshape(c, convert_value(c, n->in[WINDOW_MIX_BIAS]),
                        CONVERT_DIMS(s.heads, s.tokens, 1));
    v = onnx_node(c->x, "MatMul", ONNX_IN(w, v));
    v = onnx_node(c->x, "Add", ONNX_IN(v, b));
    return unpad(c, to_map(c, v, g, s.heads, s.head), g);
}
