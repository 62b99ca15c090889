/*
 * Conversion of ops to ONNX nodes: one function per op, listed in table.c. Values are
 * logical: images N,C,H,W whatever the memory layout, tokens as they are, any batch size.
 * Parameters are initializers with timm's names.
 */
#ifndef ONNX_CONVERT_H
#define ONNX_CONVERT_H

#include "graph/graph.h"
#include "onnx/writer.h"

struct convert {
    struct onnx *x;
    struct arena *mem; /* the model's */
    const struct graph *g;
    const float *flat;  /* weights and buffers in the layout of graph/flat.h */
    const char **value; /* ONNX name of each tensor, by id, or NULL */
    bool fold_bn;
};

/* Appends the ONNX nodes for one node of the graph. Returns the value (its name) of the
 * first output. */
typedef const char *convert_fn(struct convert *c, const struct node *n);

struct convert_row {
    const struct op *op;
    convert_fn *convert;
};
extern const struct convert_row convert_table[]; /* ended by a row without op */

/* ---- helpers ---- */

/* Returns the value of a node's input; a parameter or buffer becomes an initializer. */
const char *convert_value(struct convert *c, const struct tensor *t);
/* Returns a parameter's or buffer's values in logical order; valid as long as the model. */
float *convert_weights(struct convert *c, const struct tensor *t);

const char *convert_transpose(struct convert *c, const char *v, int n,
                              const int64_t *perm);
/* In dim, 0 keeps the dim of v, and -1 is computed, as in Reshape. */
const char *convert_reshape(struct convert *c, const char *v, int n, const int64_t *dim);
const char *convert_slice(struct convert *c, const char *v, int axis, int64_t begin,
                          int64_t end, int64_t step);
/* Adds zeros before and after each of n dims: amount[0..n) before, amount[n..2n) after. */
const char *convert_pad(struct convert *c, const char *v, int n, const int64_t *amount);
const char *convert_concat(struct convert *c, int axis, const char *const *in);
const char *convert_to_tokens(struct convert *c, const char *v); /* NCHW -> NHWC */
const char *convert_to_image(struct convert *c, const char *v);
/* True if a dim or a length depends on the batch (onnx/export.h). */
bool convert_is_batch(int64_t dim);
/* Returns the images of the batch as a vector of one 64-bit integer. */
const char *convert_batch(struct convert *c);
/* Reshapes to dims of the graph, at most one of which depends on the batch. */
const char *convert_dims(struct convert *c, const char *v, int n, const int64_t *dim);
/* Returns a vector of positions as an initializer of node n; `place` is not copied. */
const char *convert_places(struct convert *c, const struct node *n, int64_t count,
                           const int64_t *place);
/* Returns a node's input with its dims in memory order; and the reverse for t, from any dims. */
const char *convert_stored(struct convert *c, const struct tensor *t);
const char *convert_from_stored(struct convert *c, const char *v, const struct tensor *t);

#define CONVERT_DIMS(...)                                                                \
    (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])   \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

/* Adds a convolution's attributes to the last node: kernel, strides, pads, ... */
struct conv2d_attrs;
void convert_windows(struct convert *c, const struct conv2d_attrs *a);
/* Returns x w^T + b over the last dim; `matrix`: x has two dims; b may be NULL. */
const char *convert_dense(struct convert *c, const char *x, const char *w, const char *b,
                          bool matrix);

/* conv.c */
convert_fn convert_conv2d, convert_conv_transpose2d, convert_batchnorm, convert_linear;
/* pointwise.c */
convert_fn convert_add, convert_layer_scale, convert_scale_channels, convert_layernorm, convert_unscale;
/* expr.c */
convert_fn convert_expr;
/* shape.c */
convert_fn convert_view, convert_concat_op, convert_slice_op, convert_pad_end,
    convert_pad_shortcut, convert_prepend_token, convert_add_position;
/* strided.c */
convert_fn convert_strided_copy, convert_strided_copy_grad;
/* general.c */
convert_fn convert_matmul, convert_softmax, convert_constant, convert_gather,
    convert_gather_grad;
/* norm.c */
convert_fn convert_groupnorm;
/* resample.c */
convert_fn convert_resample;
/* Of any separable op (ops/separable.h): products with the matrices of its taps. */
convert_fn convert_separable;
/* pool.c */
convert_fn convert_maxpool, convert_avgpool, convert_global_avgpool;
/* attention.c */
convert_fn convert_window_attention, convert_cpb_table, convert_qkv_bias,
    convert_window_mix;
/* ordinal.c */
convert_fn convert_corn;
/* moe.c */
convert_fn convert_moe_route;
/* quantize.c */
convert_fn convert_quantize, convert_qconv2d, convert_qlinear;

#endif
