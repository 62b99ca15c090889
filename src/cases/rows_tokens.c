/* The rows of ops on tokens. */
#include "cases/rows.h"

const struct op_case rows_tokens[] = {
    {.name = "view", .build = case_view, .small = {.dim = {2, 3, 5, 4}}, STAGE1},
    {.name = "view output",
     .build = case_view_output,
     .small = {.dim = {2, 3, 5, 4}},
     .bench = {.dim = {16, 56, 56, 96}},
     .chain = true},
    {.name = "views",
     .build = case_views,
     .small = {.dim = {2, 5, 4, 3}},
     STAGE1,
     .chain = true},
    {.name = NULL},
};
