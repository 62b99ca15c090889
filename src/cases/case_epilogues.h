/* Build functions of the rows in which an activation follows another op. */
#ifndef CASES_CASE_EPILOGUES_H
#define CASES_CASE_EPILOGUES_H

#include "cases/cases.h"
#include "ops/conv2d.h"

struct case_epilogue {
    const char *act;
    float m; /* linear_residual: not 0: with a layer_scale */
    struct conv2d_attrs conv;
};

case_build_fn case_bn_act;
case_build_fn case_bn_act_shared;
case_build_fn case_bn_add_act;
case_build_fn case_conv_act;
case_build_fn case_conv_bn_act;
case_build_fn case_conv_bn_add_act;
case_build_fn case_linear_act;
case_build_fn case_linear_act_linear;
case_build_fn case_linear_add_act;
case_build_fn case_linear_residual;

#endif
