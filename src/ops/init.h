/*
 * Weight initialization: the rules of models as numbers. `fan_in` is the number of inputs
 * that one output sums over, I/groups * kH * kW; `fan_out` is O * kH * kW with the full O
 * also for grouped convolutions (timm's convention). Normal rules give N(0, s), uniform
 * ones U(-a, a):
 *
 *   KAIMING_NORMAL   s = sqrt(2 / fan_out)        KAIMING_UNIFORM  a = sqrt(6 / fan_out)
 *   KAIMING_FAN_IN   s = sqrt(2 / fan_in)           KAIMING_UNIFORM_IN  a = sqrt(6 / fan_in)
 *   KAIMING_GROUPS   s = sqrt(2 groups / fan_out) of a grouped convolution, else as
 *                    KAIMING_NORMAL: timm's RegNet and EfficientNet
 *   XAVIER_NORMAL    s = sqrt(2 / (fan_in + fan_out))
 *   XAVIER_UNIFORM   a = sqrt(6 / (fan_in + fan_out))
 *   PYTORCH          a = 1 / sqrt(fan_in), weights and biases alike
 *   UNIFORM_OUT      a = 1 / sqrt(fan_out): the classifiers of timm's EfficientNet
 *   TRUNC_NORMAL_02  s = 0.02, truncated at +-2, independent of the fan: timm's transformers
 *   NORMAL_1, NORMAL_01, NORMAL_001  s = 0.1, 0.01, 0.001, independent of the fan
 *   NORMAL_TINY      s = 1e-6
 *   LECUN_NORMAL     s = sqrt(1 / fan_in)
 *   ZERO, ONE        0, 1
 *
 * He et al. 2015 (arXiv 1502.01852); Glorot and Bengio 2010.
 */
#ifndef OPS_INIT_H
#define OPS_INIT_H

#include "graph/tensor.h"

enum init_rule {
    INIT_RULE_DEFAULT, /* the op's default; see its header */
    INIT_RULE_KAIMING_NORMAL,
    INIT_RULE_KAIMING_UNIFORM,
    INIT_RULE_KAIMING_FAN_IN,
    INIT_RULE_XAVIER_NORMAL,
    INIT_RULE_XAVIER_UNIFORM,
    INIT_RULE_PYTORCH,
    INIT_RULE_TRUNC_NORMAL_02,
    INIT_RULE_ZERO,
    INIT_RULE_KAIMING_GROUPS,
    INIT_RULE_NORMAL_01,
    INIT_RULE_UNIFORM_OUT,
    INIT_RULE_KAIMING_UNIFORM_IN,
    INIT_RULE_NORMAL_TINY,
    INIT_RULE_LECUN_NORMAL,
    INIT_RULE_ONE,
    INIT_RULE_NORMAL_1,
    INIT_RULE_NORMAL_001,
    INIT_RULE_COUNT
};

/* `rule` must not be INIT_RULE_DEFAULT. */
struct init init_rule_init(enum init_rule rule, int64_t fan_in, int64_t fan_out);

#endif
