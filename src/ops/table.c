#include "ops/table.h"

#include <string.h>

#include "ops/add.h"
#include "ops/add_noise.h"
#include "ops/all_reduce.h"
#include "ops/all_to_all.h"
#include "ops/augment.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/batchnorm_parts.h"
#include "ops/bce.h"
#include "ops/bias_grad.h"
#include "ops/bucket.h"
#include "ops/cast.h"
#include "ops/concat.h"
#include "ops/constant.h"
#include "ops/confusion.h"
#include "ops/conv2d.h"
#include "ops/corn.h"
#include "ops/cpb_table.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/dice.h"
#include "ops/distill.h"
#include "ops/dropout.h"
#include "ops/ema.h"
#include "ops/expr.h"
#include "ops/focal.h"
#include "ops/gather.h"
#include "ops/global_avgpool.h"
#include "ops/gram.h"
#include "ops/grad_stats.h"
#include "ops/grads_accumulate.h"
#include "ops/grads_join.h"
#include "ops/groupnorm.h"
#include "ops/label_down.h"
#include "ops/layer_scale.h"
#include "ops/layernorm.h"
#include "ops/linear.h"
#include "ops/loss_scale.h"
#include "ops/loss_sum.h"
#include "ops/matmul.h"
#include "ops/maxpool2d.h"
#include "ops/maxpool2d_places.h"
#include "ops/metrics.h"
#include "ops/mix.h"
#include "ops/moe_route.h"
#include "ops/moe_rows.h"
#include "ops/multilabel_loss.h"
#include "ops/norm_fold.h"
#include "ops/normalize.h"
#include "ops/ohem.h"
#include "ops/optimizer_list.h"
#include "ops/pad_end.h"
#include "ops/pad_shortcut.h"
#include "ops/patch_mask.h"
#include "ops/position.h"
#include "ops/qkv_bias.h"
#include "ops/qlayer.h"
#include "ops/quantize.h"
#include "ops/reduce_sum.h"
#include "ops/regression_loss.h"
#include "ops/relu_bits.h"
#include "ops/resample.h"
#include "ops/resize.h"
#include "ops/running_stats.h"
#include "ops/scale_channels.h"
#include "ops/softmax.h"
#include "ops/strided_copy.h"
#include "ops/tokens.h"
#include "ops/unscale.h"
#include "ops/update_control.h"
#include "ops/view.h"
#include "ops/window_attention.h"
#include "ops/window_mix.h"

#define ROW(NAME) &op_##NAME,

const struct op *const op_table[] = {
    /* input */
    &op_resize,
    &op_patch_mask,
    &op_flip,
    &op_color_jitter,
    &op_erase,
    &op_normalize,
    &op_mix,

    /* layers */
    &op_conv2d,
    &op_conv2d_data_grad,
    &op_conv2d_weight_grad,
    &op_linear,
    &op_linear_data_grad,
    &op_linear_weight_grad,
    &op_bias_grad,
    &op_batchnorm,
    &op_batchnorm_grad,
    &op_batchnorm_sync,
    &op_batchnorm_inference,
    &op_batchnorm_inference_data_grad,
    &op_batchnorm_inference_weight_grad,
    &op_batchnorm_stats,
    &op_batchnorm_finalize,
    &op_batchnorm_apply,
    &op_batchnorm_fold,
    &op_batchnorm_grad_stats,
    &op_batchnorm_grad_apply,
    &op_gram,
    &op_gram_grad,
    &op_norm_fold,
    &op_norm_fold_grad,
    &op_groupnorm,
    &op_groupnorm_grad,
    &op_layernorm,
    &op_layernorm_grad,
    &op_add,
    &op_expr[0],
    &op_expr[1],
    &op_expr[2],
    &op_expr[3],
    &op_relu_bits,
    &op_relu_bits_grad,
    &op_reduce_sum,
    &op_cast,
    &op_view,
    &op_layer_scale,
    &op_layer_scale_gamma_grad,
    &op_scale_channels,
    &op_scale_channels_scale_grad,
    &op_maxpool2d,
    &op_maxpool2d_grad,
    &op_maxpool2d_places,
    &op_maxpool2d_places_grad,
    &op_avgpool2d,
    &op_avgpool2d_grad,
    &op_global_avgpool,
    &op_global_avgpool_grad,
    &op_pad_end,
    &op_pad_end_grad,
    &op_pad_shortcut,
    &op_pad_shortcut_grad,
    &op_resample,
    &op_resample_grad,
    &op_concat,
    &op_slice,
    &op_matmul,
    &op_softmax,
    &op_softmax_grad,
    &op_strided_copy,
    &op_strided_copy_grad,
    &op_gather,
    &op_gather_grad,
    &op_constant,
    &op_prepend_token,
    &op_add_position,
    &op_batch_sum,
    &op_dropout,
    &op_dropout2d,
    &op_drop_path,
    &op_add_noise,
    &op_moe_route,
    &op_moe_pick,
    &op_moe_pick_grad,
    &op_moe_dispatch,
    &op_moe_combine,
    &op_moe_gate_grad,
    &op_window_attention,
    &op_window_attention_grad,
    &op_cpb_table,
    &op_cpb_table_grad,
    &op_qkv_bias,
    &op_qkv_bias_grad,
    &op_window_mix,
    &op_window_mix_data_grad,
    &op_window_mix_weight_grad,

    /* layers in 8 bits, for inference */
    &op_quantize,
    &op_qconv2d,
    &op_qlinear,

    /* loss */
    &op_cross_entropy,
    &op_cross_entropy_grad,
    &op_bce,
    &op_bce_grad,
    &op_multilabel_loss,
    &op_multilabel_loss_grad,
    &op_regression_loss,
    &op_regression_loss_grad,
    &op_unscale,
    &op_corn,
    &op_corn_grad,
    &op_focal,
    &op_focal_grad,
    &op_dice,
    &op_dice_grad,
    &op_ohem,
    &op_ohem_grad,
    &op_distill,
    &op_distill_grad,
    &op_label_down,
    &op_loss_sum,
    &op_loss_share,
    &op_loss_times,
    &op_cross_entropy2d,
    &op_cross_entropy2d_grad,
    &op_metrics,
    &op_confusion,
    &op_loss_scale,

    /* update */
    &op_grads_accumulate,
    &op_grads_join,
    &op_all_to_all,
    &op_all_reduce,
    &op_all_gather,
    &op_bucket_start,
    &op_bucket_join,
    &op_grad_stats,
    &op_control_prepare,
    &op_running_stats,
    &op_stats_commit,
    &op_ema,
    &op_control_finish,
    &op_control_micro,
    OPTIMIZER_LIST(ROW, ROW) /* its rows end with commas */

    NULL,
};

const struct graph_ops graph_ops_default = {.add = &op_add, .cast = &op_cast};
