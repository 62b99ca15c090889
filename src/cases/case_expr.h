/* Build functions of the rows of expr and reduce_sum, and what their rows choose. */
#ifndef CASES_CASE_EXPR_H
#define CASES_CASE_EXPR_H

#include "cases/cases.h"

struct case_activation {
    const char *name;
    float m, times;
};

struct case_reduce {
    int kind;
};

case_build_fn case_activation;
case_build_fn case_activation_single;
case_build_fn case_expr_affine;
case_build_fn case_expr_broadcast;
case_build_fn case_expr_all;
case_build_fn case_expr_mean;
case_build_fn case_expr_choices;
case_build_fn case_reduce_sum;

#endif
