/*
 * The rows of int8 layers. Sums are exact, and scales are small enough to clip many
 * inputs: sums of two products exceed int16.
 */
#include "cases/rows.h"

#define QCONV(...)                                                                       \
    .build = case_qconv2d, ATTRS(conv2d_attrs, __VA_ARGS__), .inference = true,          \
    .no_gradient = true, .no_nan = true
#define QCHAIN                                                                           \
    .build = case_qchain, .inference = true, .no_gradient = true, .no_nan = true,        \
    .chain = true

const struct op_case rows_bytes[] = {
    {.name = "qconv2d 3x3",
     .small = {.dim = {2, 4, 5, 5}, .out = 6},
     STAGE1,
     QCONV(.kernel = 3, .padding = 1, .bias = 1)},
    {.name = "qconv2d 3x3 s2 unsigned",
     .small = {.dim = {2, 16, 6, 7}, .out = 32},
     STAGE2,
     .fill = CASE_UNIT,
     QCONV(.kernel = 3, .stride = 2, .padding = 1)},
    {.name = "qconv2d 1x1 unsigned",
     .small = {.dim = {3, 32, 4, 3}, .out = 24},
     STAGE1_WIDE,
     .fill = CASE_UNIT,
     QCONV(.kernel = 1, .bias = 1)},
    {.name = "qconv2d 7x7 s2",
     .small = {.dim = {1, 3, 9, 8}, .out = 2},
     STEM_IN,
     QCONV(.kernel = 7, .stride = 2, .padding = 3)},
    {.name = "qconv2d groups unsigned",
     .small = {.dim = {2, 8, 4, 5}, .out = 4, .groups = 2},
     .bench = {.dim = {16, 128, 56, 56}, .out = 128, .groups = 32},
     .fill = CASE_UNIT,
     QCONV(.kernel = 3, .padding = 1)},
    {.name = "qconv2d depthwise",
     .small = {.dim = {2, 5, 4, 4}, .out = 5, .groups = 5},
     .bench = {.dim = {16, 64, 56, 56}, .out = 64, .groups = 64},
     QCONV(.kernel = 3, .padding = 1)},
    {.name = "qconv2d chain", .small = {.dim = {2, 16, 5, 6}, .out = 16}, STAGE1, QCHAIN},
    {.name = "qlinear",
     .build = case_qlinear,
     .small = {.dim = {3, 5, 24}, .out = 20},
     .bench = {.dim = {32, 49, 768}, .out = 3072},
     .inference = true,
     .no_gradient = true,
     .no_nan = true},
    {.name = "qlinear unsigned",
     .build = case_qlinear,
     .fill = CASE_UNIT,
     .small = {.dim = {4, 40}, .out = 10},
     .bench = {.dim = {256, 2048}, .out = 1000},
     .inference = true,
     .no_gradient = true,
     .no_nan = true},
    {.name = NULL},
};
