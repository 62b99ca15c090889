/* The rows of pointwise ops: relu, sigmoid, add, cast, scale_channels. */
#include "cases/rows.h"

const struct op_case rows_pointwise[] = {
    {.name = "relu",
     .build = case_relu,
     .small = {.dim = {2, 3, 5, 5}},
     STAGE1_WIDE,
     ATTRS(relu_attrs, .limit = 0)},
    {.name = "relu limit",
     .build = case_relu,
     .small = {.dim = {1, 3, 5, 7}},
     STAGE1_WIDE,
     ATTRS(relu_attrs, .limit = 0.5f)},
    {.name = "sigmoid", .build = case_sigmoid, .small = {.dim = {2, 5, 3, 3}}, STAGE1},
    {.name = "add", .build = case_add, .small = {.dim = {2, 3, 5, 5}}, STAGE1_WIDE},
    {.name = "sum of three", .build = case_sum, .small = {.dim = {1, 3, 5, 7}}, STAGE1},
    {.name = "cast", .build = case_cast, .small = {.dim = {1, 3, 5, 5}}, STAGE1_WIDE},
    {.name = "scale_channels",
     .build = case_scale_channels,
     .small = {.dim = {3, 5, 4, 2}},
     STAGE1_WIDE},
    {.name = NULL},
};
