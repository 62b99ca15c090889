#include "ops/activation.h"

#include <string.h>

#include "base/error.h"
#include "base/half.h"
#include "ops/expr.h"

#define ROW(NAME, text) .name = text, .value = EXPR_##NAME, .grad = EXPR_##NAME##_GRAD

const struct activation activations[] = {
    {ROW(RELU, "relu"), .from_y = true, .not_negative = true, .keeps_slope = true,
     .onnx = "Relu"},
    {ROW(LEAKY_RELU, "leaky_relu"), .keeps_slope = true, .onnx = "LeakyRelu", .m = 0.01f},
    {ROW(ELU, "elu"), .keeps_slope = true, .onnx = "Elu", .m = 1},
    {ROW(SIGMOID, "sigmoid"), .from_y = true, .not_negative = true, .onnx = "Sigmoid"},
    {ROW(TANH, "tanh"), .from_y = true, .onnx = "Tanh"},
    {ROW(SOFTPLUS, "softplus"), .not_negative = true, .keeps_slope = true,
     .onnx = "Softplus"},
    {ROW(SILU, "silu"), .keeps_slope = true},
    {ROW(GELU, "gelu"), .keeps_slope = true},
    {ROW(GELU_TANH, "gelu_tanh"), .keeps_slope = true},
    {ROW(HARD_SIGMOID, "hardsigmoid"), .not_negative = true},
    {ROW(HARD_SWISH, "hardswish"), .keeps_slope = true, .onnx = "HardSwish"},
    {ROW(MISH, "mish"), .keeps_slope = true},
    {.name = NULL},
};

const struct activation *activation_find(const char *name)
{
    for (const struct activation *a = activations; a->name; a++)
        if (!strcmp(a->name, name))
            return a;
    return NULL;
}

const struct activation *activation_of_opcode(int opcode)
{
    for (const struct activation *a = activations; a->name; a++)
        if ((int)a->value == opcode)
            return a;
    return NULL;
}

const struct activation *activation_of(const struct node *n)
{
    const struct expr_instruction *one = expr_single(n);

    return one ? activation_of_opcode(one->opcode) : NULL;
}

const struct activation *activation_grad_of(const struct node *n)
{
    const struct expr_instruction *one = expr_single(n);

    for (const struct activation *a = activations; one && a->name; a++)
        if (a->grad == (enum expr_opcode)one->opcode)
            return a;
    return NULL;
}

float activation_number(const struct node *n)
{
    return expr_single(n)->m;
}

struct tensor *activation(struct builder *b, struct tensor *x, const char *name, float m,
                          const char *layer)
{
    const struct activation *a = activation_find(name);
    struct expr e = expr_start(layer, 1, &x);

    if (!a)
        BUG("layer '%s': there is no activation '%s'", layer, name);
    return expr_end(b, &e, expr_number(&e, a->value, 0, m != 0 ? m : a->m));
}

/* y is clipped where y >= limit, which must still hold after y is stored in 16 bits. */
static bool exact_in_16_bits(float limit)
{
    float f16 = fp16_to_float(fp16_from_float(limit));
    float bf16 = bf16_to_float(bf16_from_float(limit));

    return !(f16 < limit) && !(bf16 < limit) && !(f16 > limit) && !(bf16 > limit);
}

struct tensor *relu_(struct builder *b, struct tensor *x, const struct relu_attrs *a)
{
    if (!(a->limit >= 0) || !exact_in_16_bits(a->limit))
        die("layer '%s': relu: the limit must be exact in 16-bit floats, as 6 is; not %g",
            a->layer, (double)a->limit);
    return activation(b, x, "relu", a->limit, a->layer);
}

struct tensor *gelu_(struct builder *b, struct tensor *x, const struct gelu_attrs *a)
{
    return activation(b, x, a->tanh ? "gelu_tanh" : "gelu", 0, a->layer);
}

struct tensor *sigmoid(struct builder *b, struct tensor *x, const char *layer)
{
    return activation(b, x, "sigmoid", 0, layer);
}

bool is_relu(const struct node *n)
{
    return expr_is(n, EXPR_RELU);
}

bool is_relu_grad(const struct node *n)
{
    return expr_is(n, EXPR_RELU_GRAD);
}

float relu_limit(const struct node *n)
{
    return expr_single(n)->m;
}

bool is_plain_relu(const struct node *n)
{
    return is_relu(n) && !(relu_limit(n) > 0);
}

bool is_plain_relu_grad(const struct node *n)
{
    return is_relu_grad(n) && !(relu_limit(n) > 0);
}
