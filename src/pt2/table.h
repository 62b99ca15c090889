/*
 * The operators that can be imported, one row each: the name in an exported program, and
 * the function that adds nodes for it. In-place variants ("aten.relu_.default") are the
 * rows of the same name without the underscore.
 */
#ifndef PT2_TABLE_H
#define PT2_TABLE_H

#include "pt2/import.h"

typedef void pt2_map_fn(struct pt2_import *c);

struct pt2_row {
    const char *target; /* NULL ends the table */
    pt2_map_fn *map;
};

extern const struct pt2_row pt2_table[];

/* Returns NULL if there is none. Sets *in_place for a variant that writes its argument
 * `self` or `input`. */
const struct pt2_row *pt2_row_find(const char *target, bool *in_place);

/* pt2/map_layers.c */
pt2_map_fn pt2_map_conv1d, pt2_map_conv2d, pt2_map_conv_transpose2d, pt2_map_linear,
    pt2_map_dropout, pt2_map_feature_dropout;
/* pt2/map_lstm.c */
pt2_map_fn pt2_map_lstm;
/* pt2/map_norms.c */
pt2_map_fn pt2_map_batch_norm, pt2_map_layer_norm, pt2_map_group_norm, pt2_map_rms_norm;
/* pt2/map_pool.c */
pt2_map_fn pt2_map_max_pool2d, pt2_map_avg_pool2d, pt2_map_adaptive_avg_pool2d,
    pt2_map_avg_pool1d, pt2_map_mean, pt2_map_sum, pt2_map_amax, pt2_map_norm,
    pt2_map_bilinear, pt2_map_bicubic, pt2_map_nearest;
/* pt2/map_pointwise.c */
pt2_map_fn pt2_map_add, pt2_map_addcmul, pt2_map_sub, pt2_map_rsub, pt2_map_mul,
    pt2_map_div, pt2_map_activation, pt2_map_hardtanh, pt2_map_clamp, pt2_map_gelu,
    pt2_map_pow, pt2_map_unary, pt2_map_maximum, pt2_map_masked_fill;
/* pt2/map_shape.c */
pt2_map_fn pt2_map_same, pt2_map_view, pt2_map_flatten, pt2_map_permute,
    pt2_map_transpose, pt2_map_unsqueeze, pt2_map_squeeze, pt2_map_expand, pt2_map_slice,
    pt2_map_select, pt2_map_chunk, pt2_map_split, pt2_map_unbind, pt2_map_sym_size,
    pt2_map_int_mul, pt2_map_unflatten, pt2_map_int_add, pt2_map_skip, pt2_map_copy,
    pt2_map_zero, pt2_map_movedim;
/* pt2/map_index.c */
pt2_map_fn pt2_map_index, pt2_map_unfold, pt2_map_flip, pt2_map_repeat_interleave,
    pt2_map_repeat, pt2_map_im2col, pt2_map_col2im;
/* Pads with reflected, replicated, or circular elements. */
void pt2_pad_with_copies(struct pt2_import *c, struct pt2_value x, const int64_t *before,
                         const int64_t *after, const char *mode);
/* pt2/map_join.c */
pt2_map_fn pt2_map_cat, pt2_map_stack, pt2_map_pad, pt2_map_roll;
/* pt2/map_random.c: drop path as the exporter writes it */
pt2_map_fn pt2_map_empty, pt2_map_bernoulli, pt2_map_rand, pt2_map_floor;
bool pt2_mask_div(struct pt2_import *c, const struct pt2_value *mask, double divisor);
bool pt2_mask_mul(struct pt2_import *c, const struct pt2_value *x,
                  const struct pt2_value *mask);
bool pt2_mask_add(struct pt2_import *c, const struct pt2_value *mask, double number);
/* pt2/map_attention.c */
pt2_map_fn pt2_map_attention, pt2_map_softmax, pt2_map_matmul, pt2_map_einsum;

#endif
