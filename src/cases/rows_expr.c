/* The rows of expr, of every activation, and of reduce_sum. */
#include "cases/case_expr.h"
#include "cases/rows.h"

/* Chains: the gradient of sigmoid and tanh reads y, rounded to 16 bits. */
#define ACT(title, act, number, factor)                                                  \
    {                                                                                    \
        .name = "expr " title, .build = case_activation, .small = {.dim = {2, 3, 5, 5}}, \
        .chain = true, STAGE1,                                                           \
        ATTRS(case_activation, .name = act, .m = number, .times = factor)                \
    }
#define SINGLE(act)                                                                      \
    {                                                                                    \
        .name = act, .build = case_activation_single, .small = {.dim = {2, 3, 5, 7}},    \
        STAGE1_WIDE, ATTRS(case_activation, .name = act)                                 \
    }
#define SUM(title, number, ...)                                                          \
    {                                                                                    \
        .name = "reduce_sum " title, .build = case_reduce_sum, .small = {__VA_ARGS__},   \
        STAGE1, ATTRS(case_reduce, .kind = number)                  \
    }

const struct op_case rows_expr[] = {
    SINGLE("silu"),
    SINGLE("leaky_relu"),
    SINGLE("elu"),
    SINGLE("tanh"),
    SINGLE("softplus"),
    SINGLE("hardsigmoid"),
    SINGLE("hardswish"),
    SINGLE("mish"),
    /* the steps times 5 cross the kinks at -3 and 3, without being there */
    ACT("relu", "relu", 0, 5),
    ACT("relu6", "relu", 6, 5.5f),
    ACT("leaky_relu", "leaky_relu", 0.2f, 5),
    ACT("elu", "elu", 1.5f, 5),
    ACT("sigmoid", "sigmoid", 0, 5),
    ACT("tanh", "tanh", 0, 3),
    ACT("softplus", "softplus", 0, 5),
    ACT("silu", "silu", 0, 5),
    ACT("gelu", "gelu", 0, 5),
    ACT("gelu_tanh", "gelu_tanh", 0, 5),
    ACT("hardsigmoid", "hardsigmoid", 0, 5),
    ACT("hardswish", "hardswish", 0, 5),
    ACT("mish", "mish", 0, 5),
    {.name = "expr affine",
     .build = case_expr_affine,
     .small = {.dim = {2, 5, 3, 7}},
     .chain = true,
     STAGE1},
    {.name = "expr affine, several blocks",
     .build = case_expr_affine,
     .small = {.dim = {2, 19, 9, 5}},
     .chain = true,
     STAGE1,
     WIDE},
    {.name = "expr broadcast",
     .build = case_expr_broadcast,
     .small = {.dim = {3, 4, 2, 5}},
     .chain = true,
     .seed = 3,
     STAGE1},
    {.name = "expr broadcast, several blocks",
     .build = case_expr_broadcast,
     .small = {.dim = {2, 33, 7, 5}},
     .chain = true,
     STAGE1,
     WIDE},
    {.name = "expr mean",
     .build = case_expr_mean,
     .small = {.dim = {2, 3, 5, 7}},
     .chain = true,
     STAGE1},
    {.name = "expr all",
     .build = case_expr_all,
     .small = {.dim = {2, 3, 5, 5}},
     .chain = true,
     STAGE1},
    {.name = "expr choices",
     .build = case_expr_choices,
     .small = {.dim = {2, 3, 5, 5}},
     .chain = true,
     STAGE1},
    SUM("to channels", 0, .dim = {2, 5, 3, 4}),
    SUM("to channels of many rows", 0, .dim = {3, 33, 9, 7}),
    SUM("per image", 1, .dim = {3, 5, 4, 3}),
    SUM("per pixel", 2, .dim = {3, 5, 4, 3}),
    SUM("per row", 3, .dim = {3, 5, 4, 3}),
    {.name = NULL},
};
