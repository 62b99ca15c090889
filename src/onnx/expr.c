/* expr: one or a few ONNX nodes for each instruction (operator set 17). */
#include "ops/expr.h"
#include "base/error.h"
#include "onnx/convert.h"
#include "ops/activation.h"
#include "ops/image.h"

/* Instructions that are one node of their operands; `number` puts m after or before them. */
static const struct row {
    enum expr_opcode opcode;
    const char *node;
    enum { PLAIN, NUMBER_LAST, NUMBER_FIRST } number;
} rows[] = {
    {EXPR_ADD, "Add", PLAIN},
    {EXPR_SUB, "Sub", PLAIN},
    {EXPR_MUL, "Mul", PLAIN},
    {EXPR_DIV, "Div", PLAIN},
    {EXPR_MAX, "Max", PLAIN},
    {EXPR_MIN, "Min", PLAIN},
    {EXPR_ADD_BY, "Add", NUMBER_LAST},
    {EXPR_SCALE_BY, "Mul", NUMBER_LAST},
    {EXPR_SUB_FROM, "Sub", NUMBER_FIRST},
    {EXPR_DIV_INTO, "Div", NUMBER_FIRST},
    {EXPR_AT_LEAST, "Max", NUMBER_LAST},
    {EXPR_AT_MOST, "Min", NUMBER_LAST},
    {EXPR_POWER, "Pow", NUMBER_LAST},
    {EXPR_NEG, "Neg", PLAIN},
    {EXPR_ABS, "Abs", PLAIN},
    {EXPR_SIGN, "Sign", PLAIN},
    {EXPR_FLOOR, "Floor", PLAIN},
    {EXPR_SQRT, "Sqrt", PLAIN},
    {EXPR_EXP, "Exp", PLAIN},
    {EXPR_LOG, "Log", PLAIN},
    {EXPR_SIN, "Sin", PLAIN},
    {EXPR_COS, "Cos", PLAIN},
};

static const char *scaled(struct convert *c, const char *x, float factor)
{
    return onnx_node(c->x, "Mul", ONNX_IN(x, onnx_scalar(c->x, factor)));
}

/* x (1 + erf(x / sqrt 2)) / 2: ONNX has Gelu only since operator set 20. */
static const char *put_gelu(struct convert *c, const char *x)
{
    const char *y = onnx_node(c->x, "Erf", ONNX_IN(scaled(c, x, 0.707106781f)));

    y = onnx_node(c->x, "Add", ONNX_IN(y, onnx_scalar(c->x, 1)));
    return scaled(c, onnx_node(c->x, "Mul", ONNX_IN(y, x)), 0.5f);
}

/* x sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)) */
static const char *put_gelu_tanh(struct convert *c, const char *x)
{
    const char *y = scaled(c, onnx_node(c->x, "Mul", ONNX_IN(x, x)), 0.044715f);

    y = onnx_node(c->x, "Add", ONNX_IN(y, onnx_scalar(c->x, 1)));
    y = scaled(c, onnx_node(c->x, "Mul", ONNX_IN(y, x)), 1.5957691f);
    return onnx_node(c->x, "Mul", ONNX_IN(x, onnx_node(c->x, "Sigmoid", ONNX_IN(y))));
}

static const char *put_relu(struct convert *c, const char *x, float limit)
{
    if (limit > 0)
        return onnx_node(c->x, "Clip",
                         ONNX_IN(x, onnx_scalar(c->x, 0), onnx_scalar(c->x, limit)));
    return onnx_node(c->x, "Relu", ONNX_IN(x));
}

static const char *convert_activation(struct convert *c, const struct activation *a,
                                      const char *x, float m)
{
    const char *y;

    switch (a->value) {
    case EXPR_RELU:
        return put_relu(c, x, m);
    case EXPR_GELU:
        return put_gelu(c, x);
    case EXPR_GELU_TANH:
        return put_gelu_tanh(c, x);
    case EXPR_SILU:
        return onnx_node(c->x, "Mul", ONNX_IN(x, onnx_node(c->x, "Sigmoid", ONNX_IN(x))));
    case EXPR_MISH:
        y = onnx_node(c->x, "Tanh", ONNX_IN(onnx_node(c->x, "Softplus", ONNX_IN(x))));
        return onnx_node(c->x, "Mul", ONNX_IN(x, y));
    case EXPR_HARD_SIGMOID:
        y = onnx_node(c->x, "HardSigmoid", ONNX_IN(x));
        onnx_float(c->x, "alpha", 1.0f / 6);
        return y;
    default:
        y = onnx_node(c->x, a->onnx, ONNX_IN(x));
        if (m != 0)
            onnx_float(c->x, "alpha", m);
        return y;
    }
}

static const char *cast(struct convert *c, const char *x, enum onnx_type dst)
{
    const char *y = onnx_node(c->x, "Cast", ONNX_IN(x));

    onnx_int(c->x, "to", (int64_t)dst);
    return y;
}

static const char *convert_instruction(struct convert *c, const struct node *n,
                                       const struct expr_instruction *x,
                                       const char *const *value)
{
    const struct activation *act = activation_of_opcode(x->opcode);
    const char *a = value[x->a], *b = value[x->b];

    if (act)
        return convert_activation(c, act, a, x->m);
    if (x->opcode == EXPR_NUMBER)
        return onnx_scalar(c->x, x->m);
    if (x->opcode == EXPR_SELECT)
        return onnx_node(c->x, "Where", ONNX_IN(cast(c, a, ONNX_BOOL), b, value[x->c]));
    if (x->opcode == EXPR_GREATER || x->opcode == EXPR_GREATER_EQUAL ||
        x->opcode == EXPR_EQUAL) {
        const char *y = onnx_node(c->x,
                                  x->opcode == EXPR_GREATER         ? "Greater"
                                  : x->opcode == EXPR_GREATER_EQUAL ? "GreaterOrEqual"
                                                                    : "Equal",
                                  ONNX_IN(a, b));

        return cast(c, y, ONNX_FLOAT);
    }
    if (x->opcode == EXPR_SQUARE)
        return onnx_node(c->x, "Mul", ONNX_IN(a, a));
    if (x->opcode == EXPR_RSQRT)
        return onnx_node(c->x, "Reciprocal",
                         ONNX_IN(onnx_node(c->x, "Sqrt", ONNX_IN(a))));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].opcode != (enum expr_opcode)x->opcode)
            continue;
        if (rows[i].number == NUMBER_LAST)
            return onnx_node(c->x, rows[i].node, ONNX_IN(a, onnx_scalar(c->x, x->m)));
        if (rows[i].number == NUMBER_FIRST)
            return onnx_node(c->x, rows[i].node, ONNX_IN(onnx_scalar(c->x, x->m), a));
        if (expr_opcode_operands(x->opcode) == 2)
            return onnx_node(c->x, rows[i].node, ONNX_IN(a, b));
        return onnx_node(c->x, rows[i].node, ONNX_IN(a));
    }
    die("layer '%s': %s cannot be exported to ONNX", n->layer,
        expr_opcode_name(x->opcode));
}

const char *convert_expr(struct convert *c, const struct node *n)
{
    const struct expr_attrs *a = n->attrs;
    const char *value[EXPR_INPUTS + EXPR_INSTRUCTIONS];

    for (int i = 0; i < n->nin; i++) {
        value[i] = convert_value(c, n->in[i]);
        if (n->in[i]->ndim == 1 && tensor_is_image(n->out[0]))
            value[i] = convert_reshape(c, value[i], CONVERT_DIMS(1, -1, 1, 1));
    }
    for (int i = 0; i < a->n; i++)
        value[n->nin + i] = convert_instruction(c, n, a->code + i, value);
    for (int k = 1; k < a->nout; k++)
        c->value[n->out[k]->id] = value[a->out[k]];
    return value[a->out[0]];
}
