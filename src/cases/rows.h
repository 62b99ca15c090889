/*
 * The tables of rows of cases/cases.h, one file each, and the macros used in them. Only
 * included by cases/cases.c and the tables.
 */
#ifndef CASES_ROWS_H
#define CASES_ROWS_H

#include "cases/case_build.h"
#include "cases/case_group.h"

#include "ops/activation.h"
#include "ops/avgpool2d.h"
#include "ops/batchnorm.h"
#include "ops/bce.h"
#include "ops/concat.h"
#include "ops/conv2d.h"
#include "ops/conv_transpose2d.h"
#include "ops/cpb_table.h"
#include "ops/cross_entropy.h"
#include "ops/cross_entropy2d.h"
#include "ops/dice.h"
#include "ops/distill.h"
#include "ops/focal.h"
#include "ops/maxpool2d.h"
#include "ops/mix.h"
#include "ops/moe_route.h"
#include "ops/multilabel_loss.h"
#include "ops/ohem.h"
#include "ops/pad_end.h"
#include "ops/pad_shortcut.h"
#include "ops/regression_loss.h"
#include "ops/resample.h"
#include "ops/matmul.h"
#include "ops/gather.h"
#include "ops/strided_copy.h"
#include "ops/window_attention.h"
#include "ops/window_mix.h"

/* Each is ended by name == NULL. */
extern const struct op_case rows_input[];
extern const struct op_case rows_conv[];
extern const struct op_case rows_batchnorm[];
extern const struct op_case rows_expr[];
extern const struct op_case rows_pointwise[];
extern const struct op_case rows_pool[];
extern const struct op_case rows_resample[];
extern const struct op_case rows_tokens[];
extern const struct op_case rows_patches[];
extern const struct op_case rows_dropout[];
extern const struct op_case rows_moe[];
extern const struct op_case rows_attention[];
extern const struct op_case rows_bytes[];
extern const struct op_case rows_loss[];
extern const struct op_case rows_update[];
extern const struct op_case rows_chains[];
extern const struct op_case rows_epilogues[];
extern const struct op_case rows_wide[];
extern const struct op_case rows_wide_chains[];

#define ATTRS(type, ...)                                                                 \
    .attrs = &(const struct type)                                                        \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }
#define CONV(...)          .build = case_conv2d, ATTRS(conv2d_attrs, __VA_ARGS__)
#define MIX(...)           .build = case_mix, .no_gradient = true, ATTRS(mix_attrs, __VA_ARGS__)
#define RESAMPLE(...)      .build = case_resample, ATTRS(resample_attrs, __VA_ARGS__)
#define MAXPOOL(...)       .build = case_maxpool2d, ATTRS(pool2d_attrs, __VA_ARGS__)
#define AVGPOOL(...)       .build = case_avgpool2d, ATTRS(pool2d_attrs, __VA_ARGS__)
#define UP(...)            .build = case_conv_transpose2d, ATTRS(conv_transpose2d_attrs, __VA_ARGS__)
#define ATTENTION(fn, ...) .build = case_##fn, ATTRS(window_attention_attrs, __VA_ARGS__)
#define CPB(...)           .build = case_cpb_table, ATTRS(cpb_table_attrs, __VA_ARGS__)
#define WIN_MIX(...)       .build = case_window_mix, ATTRS(window_mix_attrs, __VA_ARGS__)
#define LOSS2D(...)                                                                      \
    .build = case_cross_entropy2d, ATTRS(cross_entropy2d_attrs, __VA_ARGS__)
#define HEAD(...)                                                                        \
    .build = case_head, .chain = true, ATTRS(cross_entropy2d_attrs, __VA_ARGS__)
#define FOCAL(...)   .build = case_focal, ATTRS(focal_attrs, __VA_ARGS__)
#define DICE(...)    .build = case_dice, ATTRS(dice_attrs, __VA_ARGS__)
#define OHEM(...)    .build = case_ohem, ATTRS(ohem_attrs, __VA_ARGS__)
#define DISTILL(...) .build = case_distill, ATTRS(distill_attrs, __VA_ARGS__)
#define BCE(...)     .build = case_bce, ATTRS(bce_attrs, __VA_ARGS__)
#define MULTILABEL(...)                                                                  \
    .build = case_multilabel, ATTRS(multilabel_loss_attrs, __VA_ARGS__)
#define REGRESSION(...)                                                                  \
    .build = case_regression, ATTRS(regression_loss_attrs, .rule = {__VA_ARGS__})
#define LOSS(...) .build = case_cross_entropy, ATTRS(cross_entropy_attrs, __VA_ARGS__)

/* Parts of an op, with inputs in place of its other parts. */
#define PARTS(fn) .build = case_##fn, .no_gradient = true

#define BN_RELU(fn, max)                                                                 \
    .build = case_##fn, .chain = true, ATTRS(relu_attrs, .limit = (max))

#define UPDATE(...)                                                                      \
    .build = case_weights, .small = {.dim = {3, 4, 4, 3}, .out = 5},                     \
    .bench = {.dim = {2, 512, 7, 7}, .out = 2048}, .chain = true,                        \
    .no_differences = true, .update = &(const struct case_update)                        \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

/* Same with arrays that are split into several pieces. */
#define UPDATE_WIDE(...)                                                                 \
    .build = case_weights, .small = {.dim = {3, 24, 4, 3}, .out = 40},                   \
    .bench = {.dim = {2, 512, 7, 7}, .out = 2048}, .chain = true, .wide = true,          \
    .no_differences = true, .update = &(const struct case_update)                        \
    {                                                                                    \
        __VA_ARGS__                                                                      \
    }

#define WIDE .wide = true, .no_differences = true
/* A chain as in evaluation: fixed statistics and no gradients. */
#define EVALUATED .chain = true, .inference = true, .no_gradient = true

/* Sizes for benchmarks: batch 16 at 224 x 224. */
#define STEM_IN     .bench = {.dim = {16, 3, 224, 224}, .out = 64}
#define STAGE1      .bench = {.dim = {16, 64, 56, 56}, .out = 64}
#define STAGE1_WIDE .bench = {.dim = {16, 256, 56, 56}, .out = 64}
/* The end of the first bottlenecks. */
#define FOLD1 .bench = {.dim = {16, 64, 56, 56}, .out = 256}
#define STAGE2      .bench = {.dim = {16, 128, 28, 28}, .out = 128}
/* Road scenes: batch 4 at 480 x 360, halved once, twice, three times. */
#define SEGMENT1 .bench = {.dim = {4, 16, 180, 240}, .out = 12}
#define SEGMENT2 .bench = {.dim = {4, 64, 90, 120}, .out = 16}
#define SEGMENT3 .bench = {.dim = {4, 128, 45, 60}, .out = 64}
#define DOWN1    .bench = {.dim = {4, 3, 360, 480}, .out = 16}
#define DOWN2    .bench = {.dim = {4, 16, 180, 240}, .out = 64}
#define DOWN3    .bench = {.dim = {4, 64, 90, 120}, .out = 128}
#define PIXELS   .bench = {.dim = {4, 12, 360, 480}}
/* Features of qkv: Swin-T at 224, SwinV2-T at 256, ViT-S at 224, batch 8. */
#define SWIN1  .bench = {.dim = {8, 56, 56, 288}, .out = 3}
#define SWIN2  .bench = {.dim = {8, 28, 28, 576}, .out = 6}
#define SWIN3  .bench = {.dim = {8, 14, 14, 1152}, .out = 12}
#define SWIN4  .bench = {.dim = {8, 7, 7, 2304}, .out = 24}
#define SWINV2 .bench = {.dim = {8, 64, 64, 288}, .out = 3}
#define VIT    .bench = {.dim = {8, 1, 197, 1152}, .out = 6}
/* Features of Swin-MLP-T/C24 at 256. */
#define SWINMLP .bench = {.dim = {8, 64, 64, 96}, .out = 4}
#define CLASSES .bench = {.dim = {256, 1000}}

#endif
