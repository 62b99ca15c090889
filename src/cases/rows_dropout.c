/* The rows of what drops elements, channels or images. */
#include "cases/rows.h"

const struct op_case rows_dropout[] = {
    {.name = "dropout", .build = case_dropout, .small = {.dim = {2, 5, 3, 3}}, STAGE1},
    {.name = "dropout2d",
     .build = case_dropout2d,
     .small = {.dim = {3, 5, 2, 3}},
     SEGMENT2},
    {.name = "drop_path",
     .build = case_drop_path,
     .small = {.dim = {8, 3, 2, 3}},
     STAGE1_WIDE},
    {.name = NULL},
};
