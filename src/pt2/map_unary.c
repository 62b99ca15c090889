/* Functions of one operand: activations, powers, limits. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ops/activation.h"
#include "pt2/compose.h"
#include "pt2/table.h"

struct pt2_value pt2_apply(struct pt2_import *c, const struct pt2_value *self,
                           enum expr_opcode opcode, double number)
{
    struct pt2_value x = *self;
    struct expr e;

    if (x.kind != PT2_VALUE_TENSOR)
        pt2_refuse(c, "its operand is not a tensor");
    if (!pt2_dense(c, &x))
        return x;
    e = expr_start(pt2_layer(c), 1, &x.t);
    x.t = expr_end(c->b, &e, expr_number(&e, opcode, 0, (float)number));
    return x;
}

void pt2_map_one(struct pt2_import *c, const struct pt2_value *self,
                 enum expr_opcode opcode, double number)
{
    struct pt2_value y = pt2_apply(c, self, opcode, number);

    if (!c->why->len)
        pt2_result(c, y);
}

void pt2_map_activation(struct pt2_import *c)
{
    static const struct {
        const char *target, *name,
            *number; /* number: the name of its argument, or NULL */
        double by_default;
    } rows[] = {
        {"relu.", "relu", NULL, 0},
        {"relu6.", "relu", NULL, 6},
        {"leaky_relu", "leaky_relu", "negative_slope", 0.01},
        {"elu", "elu", "alpha", 1},
        {"sigmoid", "sigmoid", NULL, 0},
        {"tanh", "tanh", NULL, 0},
        {"softplus", "softplus", NULL, 0},
        {"silu", "silu", NULL, 0},
        {"hardsigmoid", "hardsigmoid", NULL, 0},
        {"hardswish", "hardswish", NULL, 0},
        {"mish", "mish", NULL, 0},
    };
    const struct pt2_value *x =
        pt2_has(c, "input") ? pt2_tensor(c, "input") : pt2_tensor(c, "self");
    char name[32];

    (void)snprintf(name, sizeof(name), "%s", c->node->target + strlen("aten."));
    for (char *p = name; *p; p++) /* relu_.default */
        if (p[0] == '_' && p[1] == '.')
            memmove(p, p + 1, strlen(p));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double m = rows[i].by_default;

        if (strncmp(name, rows[i].target, strlen(rows[i].target)) != 0)
            continue;
        if (rows[i].number)
            m = pt2_number(c, rows[i].number, m);
        if (!strcmp(rows[i].name, "softplus") &&
            (pt2_number(c, "beta", 1) != 1 || pt2_number(c, "threshold", 20) != 20))
            pt2_refuse(c, "a beta or threshold other than 1 and 20");
        if (!strcmp(rows[i].name, "elu") &&
            (pt2_number(c, "scale", 1) != 1 || pt2_number(c, "input_scale", 1) != 1))
            pt2_refuse(c, "a scale other than 1");
        pt2_map_one(c, x, activation_find(rows[i].name)->value, m);
        return;
    }
    pt2_refuse(c, "this activation is not supported");
}

void pt2_map_gelu(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    const char *how = pt2_text(c, "approximate", "none");
    bool tanh = !strcmp(how, "tanh");

    if (!tanh && strcmp(how, "none") != 0)
        pt2_refuse(c, "the approximation '%s'", how);
    pt2_map_one(c, x, tanh ? EXPR_GELU_TANH : EXPR_GELU, 0);
}

/* A limit of 0 below and a number above is a relu with a limit. */
void pt2_map_hardtanh(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    double low = pt2_number(c, "min_val", -1), high = pt2_number(c, "max_val", 1);

    if (low != 0 || !(high > 0))
        pt2_refuse(c, "limits of %g and %g", low, high);
    pt2_map_one(c, x, EXPR_RELU, high);
}

void pt2_map_clamp(struct pt2_import *c)
{
    struct pt2_value x = *pt2_tensor(c, "self");
    double low = pt2_number(c, "min", -INFINITY), high = pt2_number(c, "max", INFINITY);
    struct expr e;
    int v = 0;

    if (!pt2_dense(c, &x))
        return;
    if (!isfinite(low) && !isfinite(high)) {
        pt2_result_view(c, &x, x);
        return;
    }
    e = expr_start(pt2_layer(c), 1, &x.t);
    if (isfinite(low))
        v = expr_number(&e, EXPR_AT_LEAST, v, (float)low);
    if (isfinite(high))
        v = expr_number(&e, EXPR_AT_MOST, v, (float)high);
    x.t = expr_end(c->b, &e, v);
    pt2_result(c, x);
}

void pt2_map_pow(struct pt2_import *c)
{
    const struct pt2_value *x = pt2_tensor(c, "self");
    double n = pt2_number(c, "exponent", 1);

    pt2_map_one(c, x, n == 2 ? EXPR_SQUARE : EXPR_POWER, n);
}

void pt2_map_unary(struct pt2_import *c)
{
    static const struct {
        const char *target;
        enum expr_opcode opcode;
    } rows[] = {
        {"neg", EXPR_NEG},       {"abs", EXPR_ABS},
        {"square", EXPR_SQUARE}, {"sqrt", EXPR_SQRT},
        {"rsqrt", EXPR_RSQRT},   {"exp", EXPR_EXP},
        {"log", EXPR_LOG},       {"sin", EXPR_SIN},
        {"cos", EXPR_COS},       {"reciprocal", EXPR_DIV_INTO},
    };
    const struct pt2_value *x = pt2_tensor(c, "self");
    const char *name = c->node->target + strlen("aten.");
    size_t len = strcspn(name, "."), i = 0;

    len -= len && name[len - 1] == '_';
    for (; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strlen(rows[i].target) == len && !strncmp(rows[i].target, name, len))
            break;
    if (i == sizeof(rows) / sizeof(rows[0]))
        pt2_refuse(c, "this function is not supported");
    else
        pt2_map_one(c, x, rows[i].opcode, rows[i].opcode == EXPR_DIV_INTO ? 1 : 0);
}
