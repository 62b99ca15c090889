#include "cpu/kernels.h"

#include <string.h>

#include "base/log.h"
#include "cpu/kernel_table.h"
#include "ops/loss_scale.h"
#include "ops/metrics.h"
#include "ops/reference.h"

/*
 * Claims nothing: logs that the reference kernel is next. Ops on a few values need no
 * faster code.
 */
static const char *notice_claim(struct region *r, struct graph *g, struct node *n,
                                struct device *dev)
{
    (void)r, (void)g, (void)dev;
    if (n->op != &op_loss_scale && n->op != &op_metrics && n->phase != PHASE_UPDATE)
        log_once("cpu: no fast kernel for %s: the reference runs", node_title(n));
    return "nothing fast";
}

static const struct kernel notice = {.name = "cpu notice", .claim = notice_claim};

const struct kernel *const cpu_kernels[] = {
    /* large claims first */
    &cpu_down,
    &cpu_down_weight_grad,
    &cpu_forward_depthwise,
    &cpu_data_grad_depthwise,
    &cpu_weight_grad_depthwise,
    &cpu_forward_amx,
    &cpu_data_grad_amx,
    &cpu_weight_grad_amx,
    &cpu_forward_narrow,
    &cpu_data_grad_narrow,
    &cpu_weight_grad_narrow,
    &cpu_forward_winograd,
    &cpu_data_grad_winograd,
    &cpu_weight_grad_winograd,
    &cpu_forward_direct,
    &cpu_data_grad_direct,
    &cpu_weight_grad_direct,
    &cpu_forward_gemm,
    &cpu_data_grad_gemm,
    &cpu_weight_grad_gemm,
    &cpu_conv_transpose2d,
    &cpu_conv2d,
    &cpu_gram,
    &cpu_gram_grad,
    &cpu_norm_fold,
    &cpu_norm_fold_grad,
    &cpu_qlayer,
    &cpu_batchnorm,
    &cpu_batchnorm_grad,
    &cpu_data_grad,
    &cpu_weight_grad,
    &cpu_linear,
    &cpu_cross_entropy2d,
    &cpu_window_attention,
    &cpu_window_mix,
    &cpu_layernorm,

    /* single ops left over */
    &cpu_bias_grad,
    &cpu_batchnorm_inference,
    &cpu_add,
    &cpu_resize,
    &cpu_augment,
    &cpu_patch_mask,
    &cpu_normalize,
    &cpu_cast,
    &cpu_expr,
    &cpu_reduce_sum,
    &cpu_layer_scale,
    &cpu_groupnorm,
    &cpu_layernorm_grad,
    &cpu_pool2d,
    &cpu_maxpool2d,
    &cpu_global_avgpool,
    &cpu_pad_end,
    &cpu_pad_shortcut,
    &cpu_resample,
    &cpu_concat,
    &cpu_strided_copy,
    &cpu_gather,
    &cpu_constant,
    &cpu_matmul,
    &cpu_softmax,
    &cpu_tokens,
    &cpu_position,
    &cpu_dropout,
    &cpu_add_noise,
    &cpu_moe_route,
    &cpu_moe_pick,
    &cpu_moe_rows,
    &cpu_all_to_all,
    &cpu_mix,
    &cpu_cross_entropy,
    &cpu_bce,
    &cpu_multilabel_loss,
    &cpu_regression_loss,
    &cpu_unscale,
    &cpu_corn,
    &cpu_focal,
    &cpu_dice,
    &cpu_ohem,
    &cpu_distill,
    &cpu_label_down,
    &cpu_loss_sum,
    &cpu_cpb_table,
    &cpu_qkv_bias,
    &cpu_quantize,
    &cpu_grads_join,
    &cpu_optimizer,
    &cpu_bucket,

    &notice,
    &kernel_reference,
    NULL,
};

const struct kernel *const cpu_own_convs[] = {
    &cpu_forward_depthwise,
    &cpu_data_grad_depthwise,
    &cpu_weight_grad_depthwise,
    &cpu_forward_amx,
    &cpu_data_grad_amx,
    &cpu_weight_grad_amx,
    &cpu_forward_direct,
    &cpu_data_grad_direct,
    &cpu_weight_grad_direct,
    &cpu_forward_narrow,
    &cpu_data_grad_narrow,
    &cpu_weight_grad_narrow,
    &cpu_forward_winograd,
    &cpu_data_grad_winograd,
    &cpu_weight_grad_winograd,
    &cpu_forward_gemm,
    &cpu_data_grad_gemm,
    &cpu_weight_grad_gemm,
    &cpu_conv_transpose2d,
    &cpu_down,
    &cpu_down_weight_grad,
    NULL,
};

const char *cpu_kernel_candidate(const struct kernel *k)
{
    const char *last = strrchr(k->name, ' '); /* "cpu forward amx" */

    if (k == &cpu_conv2d || k == &cpu_linear || k == &cpu_data_grad ||
        k == &cpu_weight_grad)
        return KERNEL_TABLE_LIBRARY;
    for (int i = 0; last && kernel_table_names[i]; i++)
        if (!strcmp(kernel_table_names[i], last + 1))
            return kernel_table_names[i];
    return NULL;
}
