#include "pt2/table.h"

#include <string.h>

/* clang-format off */
const struct pt2_row pt2_table[] = {
    {"aten.conv2d.default", pt2_map_conv2d},
    {"aten.conv2d.padding", pt2_map_conv2d},
    {"aten.conv_transpose2d.input", pt2_map_conv_transpose2d},
    {"aten.linear.default", pt2_map_linear},
    {"aten.batch_norm.default", pt2_map_batch_norm},
    {"aten.layer_norm.default", pt2_map_layer_norm},
    {"aten.group_norm.default", pt2_map_group_norm},
    {"aten.dropout.default", pt2_map_dropout},
    {"aten.feature_dropout.default", pt2_map_feature_dropout},
    {"aten.scaled_dot_product_attention.default", pt2_map_attention},
    {"aten.softmax.int", pt2_map_softmax},
    {"aten.matmul.default", pt2_map_matmul},
    {"aten.bmm.default", pt2_map_matmul},

    {"aten.max_pool2d.default", pt2_map_max_pool2d},
    {"aten.avg_pool2d.default", pt2_map_avg_pool2d},
    {"aten.adaptive_avg_pool2d.default", pt2_map_adaptive_avg_pool2d},
    {"aten.mean.dim", pt2_map_mean},
    {"aten.sum.dim_IntList", pt2_map_sum},
    {"aten.linalg_vector_norm.default", pt2_map_norm},
    {"aten.upsample_bilinear2d.vec", pt2_map_bilinear},
    {"aten.upsample_bicubic2d.vec", pt2_map_bicubic},
    {"aten._upsample_bilinear2d_aa.vec", pt2_map_bilinear},
    {"aten._upsample_bicubic2d_aa.vec", pt2_map_bicubic},
    {"aten.upsample_nearest2d.vec", pt2_map_nearest},

    {"aten.add.Tensor", pt2_map_add},
    {"aten.sub.Tensor", pt2_map_sub},
    {"aten.rsub.Scalar", pt2_map_rsub},
    {"aten.mul.Tensor", pt2_map_mul},
    {"aten.mul.Scalar", pt2_map_mul},
    {"aten.div.Tensor", pt2_map_div},
    {"aten.div.Scalar", pt2_map_div},
    {"aten.add.Scalar", pt2_map_add},
    {"aten.sub.Scalar", pt2_map_sub},
    {"aten.maximum.default", pt2_map_maximum},
    {"aten.minimum.default", pt2_map_maximum},
    {"aten.relu.default", pt2_map_activation},
    {"aten.relu6.default", pt2_map_activation},
    {"aten.leaky_relu.default", pt2_map_activation},
    {"aten.elu.default", pt2_map_activation},
    {"aten.sigmoid.default", pt2_map_activation},
    {"aten.tanh.default", pt2_map_activation},
    {"aten.softplus.default", pt2_map_activation},
    {"aten.silu.default", pt2_map_activation},
    {"aten.hardsigmoid.default", pt2_map_activation},
    {"aten.hardswish.default", pt2_map_activation},
    {"aten.mish.default", pt2_map_activation},
    {"aten.gelu.default", pt2_map_gelu},
    {"aten.hardtanh.default", pt2_map_hardtanh},
    {"aten.clamp.default", pt2_map_clamp},
    {"aten.clamp_min.default", pt2_map_clamp},
    {"aten.clamp_max.default", pt2_map_clamp},
    {"aten.pow.Tensor_Scalar", pt2_map_pow},
    {"aten.neg.default", pt2_map_unary},
    {"aten.abs.default", pt2_map_unary},
    {"aten.square.default", pt2_map_unary},
    {"aten.sqrt.default", pt2_map_unary},
    {"aten.rsqrt.default", pt2_map_unary},
    {"aten.exp.default", pt2_map_unary},
    {"aten.log.default", pt2_map_unary},
    {"aten.sin.default", pt2_map_unary},
    {"aten.cos.default", pt2_map_unary},
    {"aten.reciprocal.default", pt2_map_unary},

    {"aten.contiguous.default", pt2_map_same},
    {"aten.clone.default", pt2_map_same},
    {"aten.alias.default", pt2_map_same},
    {"aten.to.dtype", pt2_map_same},
    {"aten.view.default", pt2_map_view},
    {"aten.reshape.default", pt2_map_view},
    {"aten.flatten.using_ints", pt2_map_flatten},
    {"aten.permute.default", pt2_map_permute},
    {"aten.movedim.int", pt2_map_movedim},
    {"aten.transpose.int", pt2_map_transpose},
    {"aten.unsqueeze.default", pt2_map_unsqueeze},
    {"aten.squeeze.default", pt2_map_squeeze},
    {"aten.squeeze.dim", pt2_map_squeeze},
    {"aten.squeeze.dims", pt2_map_squeeze},
    {"aten.expand.default", pt2_map_expand},
    {"aten.expand_as.default", pt2_map_expand},
    {"aten.slice.Tensor", pt2_map_slice},
    {"aten.select.int", pt2_map_select},
    {"aten.chunk.default", pt2_map_chunk},
    {"aten.split.Tensor", pt2_map_split},
    {"aten.split_with_sizes.default", pt2_map_split},
    {"aten.unbind.int", pt2_map_unbind},
    {"aten.cat.default", pt2_map_cat},
    {"aten.pad.default", pt2_map_pad},
    {"aten.roll.default", pt2_map_roll},
    {"aten.reshape_as.default", pt2_map_view},
    {"aten.view_as.default", pt2_map_view},
    {"aten.type_as.default", pt2_map_same},
    {"aten.stack.default", pt2_map_stack},

    {"aten.new_empty.default", pt2_map_empty},
    {"aten.empty.memory_format", pt2_map_empty},
    {"aten.bernoulli.float", pt2_map_bernoulli},
    {"aten.rand.default", pt2_map_rand},
    {"aten.floor.default", pt2_map_floor},

    {"aten.sym_size.int", pt2_map_sym_size},
    {"_operator.mul", pt2_map_int_mul},
    {"_operator.add", pt2_map_int_add},
    {"aten._assert_tensor_metadata.default", pt2_map_skip},
    {0},
};
/* clang-format on */

const struct pt2_row *pt2_row_find(const char *target, bool *in_place)
{
    const char *dot = strrchr(target, '.');
    size_t len = dot ? (size_t)(dot - target) : 0;

    *in_place = len && target[len - 1] == '_';
    for (const struct pt2_row *r = pt2_table; r->target; r++) {
        if (!*in_place && !strcmp(r->target, target))
            return r;
        if (*in_place && !strncmp(r->target, target, len - 1) &&
            !strcmp(r->target + len - 1, dot))
            return r;
    }
    return NULL;
}
