/* The rows of expr and reduce_sum. */
#include "cases/case_expr.h"

#include "cases/case_build.h"
#include "ops/activation.h"
#include "ops/expr.h"
#include "ops/image.h"
#include "ops/reduce_sum.h"
#include "ops/relu_bits.h"

void case_relu(struct case_build *c, const struct op_case *row, const struct case_size *s)
{
    struct relu_attrs a = *(const struct relu_attrs *)row->attrs;

    a.layer = "relu";
    case_output(c, relu_(c->b, case_image(c, "x", s->dim, CASE_STEPS), &a));
}

/* relu with bits, and the gradient that reads them. */
void case_relu_bits(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct relu_bits_attrs a = {"relu", ((const struct relu_attrs *)row->attrs)->limit,
                                RELU_BITS_PLAIN};
    struct tensor *x = case_image(c, "x", s->dim, CASE_STEPS);
    struct tensor *dy = case_image(c, "dy", s->dim, CASE_SIGNED), **out;

    out = node(c->b, &op_relu_bits, a.layer, &a, &x, 1)->producer->out;

    struct tensor *in[] = {[RELU_BITS_GRAD_BITS] = out[RELU_BITS_BITS],
                           [RELU_BITS_GRAD_DY] = dy};

    case_output(c, out[RELU_BITS_Y]);
    case_output(c, node(c->b, &op_relu_bits_grad, a.layer, &a, in, 2));
}

void case_sigmoid(struct case_build *c, const struct op_case *row,
                  const struct case_size *s)
{
    (void)row;
    case_output(c, sigmoid(c->b, case_image(c, "x", s->dim, CASE_SIGNED), "sigmoid"));
}

/* The activation of x times a number, so that both sides of its kinks occur. */
void case_activation(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    const struct case_activation *a = row->attrs;
    struct tensor *x = case_image(c, "x", s->dim, CASE_STEPS);
    struct expr e = expr_start("act", 1, &x);
    int v = a->times != 0 ? expr_number(&e, EXPR_SCALE_BY, 0, a->times) : 0;

    v = expr_number(&e, activation_find(a->name)->value, v, a->m);
    case_output(c, expr_end(c->b, &e, v));
}

/* Only the activation, without a chain. */
void case_activation_single(struct case_build *c, const struct op_case *row,
                            const struct case_size *s)
{
    const struct case_activation *a = row->attrs;
    struct tensor *x = case_image(c, "x", s->dim, CASE_STEPS);

    case_output(c, activation(c->b, x, a->name, a->m, "act"));
}

/* silu(x scale + shift) + residual, with vectors of the channels */
void case_expr_affine(struct case_build *c, const struct op_case *row,
                      const struct case_size *s)
{
    struct tensor *x = case_image(c, "x", s->dim, CASE_SIGNED);
    int64_t channels[] = {s->dim[IMAGE_C], 0};
    struct tensor *in[] = {x, case_plain(c, "scale", channels, CASE_SIGNED),
                           case_plain(c, "shift", channels, CASE_SIGNED),
                           case_image(c, "residual", s->dim, CASE_SIGNED)};
    struct expr e = expr_start("affine", 4, in);
    int v = expr_add(&e, EXPR_ADD, expr_add(&e, EXPR_MUL, 0, 1), 2);

    (void)row;
    case_output(
        c, expr_end(c->b, &e, expr_add(&e, EXPR_ADD, expr_add(&e, EXPR_SILU, v), 3)));
}

/* A gate per channel of each image, a map per pixel, and a number per image. */
void case_expr_broadcast(struct case_build *c, const struct op_case *row,
                         const struct case_size *s)
{
    int64_t gate[] = {s->dim[0], s->dim[1], 1, 1}, map[] = {1, 1, s->dim[2], s->dim[3]};
    int64_t each[] = {s->dim[0], 1, 1, 1};
    struct tensor *in[] = {
        case_image(c, "x", s->dim, CASE_SIGNED), case_image(c, "gate", gate, CASE_SIGNED),
        case_image(c, "map", map, CASE_SIGNED), case_image(c, "each", each, CASE_SIGNED)};
    struct expr e = expr_start("gate", 4, in);
    int v = expr_add(&e, EXPR_MUL, 0, expr_add(&e, EXPR_SIGMOID, 1));

    (void)row;
    v = expr_add(&e, EXPR_SUB, v, 2);
    case_output(c, expr_end(c->b, &e, expr_add(&e, EXPR_MUL, v, 3)));
}

/* The mean of two: both gradients are one instruction, and so two outputs of one node. */
void case_expr_mean(struct case_build *c, const struct op_case *row,
                    const struct case_size *s)
{
    struct tensor *in[] = {case_image(c, "x", s->dim, CASE_SIGNED),
                           case_image(c, "y", s->dim, CASE_SIGNED)};
    struct expr e = expr_start("mean", 2, in);
    int v = expr_add(&e, EXPR_ADD, 0, 1);

    (void)row;
    case_output(c, expr_end(c->b, &e, expr_number(&e, EXPR_SCALE_BY, v, 0.5f)));
}

/* Every instruction that has a gradient and is smooth where x is; two outputs. */
void case_expr_all(struct case_build *c, const struct op_case *row,
                   const struct case_size *s)
{
    static const enum expr_opcode smooth[] = {EXPR_SQRT,  EXPR_LOG, EXPR_SIN,   EXPR_COS,
                                              EXPR_RSQRT, EXPR_EXP, EXPR_SQUARE,
                                              EXPR_NORMAL_CDF};
    struct tensor *in[] = {case_image(c, "x", s->dim, CASE_UNIT),
                           case_image(c, "y", s->dim, CASE_UNIT)};
    struct expr e = expr_start("all", 2, in);
    int p = expr_number(&e, EXPR_ADD_BY, 0, 1), q = expr_number(&e, EXPR_ADD_BY, 1, 0.5f);
    int sum = expr_add(&e, EXPR_DIV, p, q);
    int out[2];
    struct node *n;

    (void)row;
    for (size_t i = 0; i < sizeof(smooth) / sizeof(smooth[0]); i++)
        sum = expr_add(&e, EXPR_ADD, sum, expr_add(&e, smooth[i], i % 2 ? q : p));
    sum = expr_add(&e, EXPR_ADD, sum, expr_number(&e, EXPR_POWER, p, 1.5f));
    sum = expr_add(&e, EXPR_SUB, sum, expr_number(&e, EXPR_DIV_INTO, q, 2));
    sum = expr_add(&e, EXPR_ADD, sum, expr_add(&e, EXPR_NEG, p));
    out[0] = expr_number(&e, EXPR_SCALE_BY, sum, 0.25f);
    out[1] = expr_number(&e, EXPR_SUB_FROM, out[0], 3); /* reads the other output */
    n = expr_end_many(c->b, &e, 2, out);
    case_output(c, n->out[0]);
    case_output(c, n->out[1]);
}

/* Comparisons and limits; in steps, so that only what is meant to ties. */
void case_expr_choices(struct case_build *c, const struct op_case *row,
                       const struct case_size *s)
{
    struct tensor *in[] = {case_image(c, "x", s->dim, CASE_STEPS),
                           case_image(c, "y", s->dim, CASE_SIGNED)};
    struct expr e = expr_start("choices", 2, in);
    int x = 0, y = expr_number(&e, EXPR_SCALE_BY, 1, 0.04f); /* far from each step */
    int v =
        expr_add(&e, EXPR_MUL, expr_add(&e, EXPR_MAX, x, y), expr_add(&e, EXPR_ABS, x));

    (void)row;
    v = expr_add(&e, EXPR_ADD, v, expr_add(&e, EXPR_MIN, x, y));
    v = expr_add(&e, EXPR_ADD, v, expr_number(&e, EXPR_AT_LEAST, x, -0.5f));
    v = expr_add(&e, EXPR_ADD, v, expr_number(&e, EXPR_AT_MOST, x, 0.5f));
    v = expr_add(&e, EXPR_ADD, v,
                 expr_select(&e, expr_add(&e, EXPR_GREATER, x, y), x,
                             expr_add(&e, EXPR_SQUARE, y)));
    v = expr_add(&e, EXPR_ADD, v, expr_add(&e, EXPR_MAX, x, x)); /* a tie */
    v = expr_add(&e, EXPR_ADD, v, expr_add(&e, EXPR_SIGN, x));
    v = expr_add(&e, EXPR_ADD, v, expr_add(&e, EXPR_FLOOR, x));
    v = expr_add(&e, EXPR_ADD, v, expr_add(&e, EXPR_EQUAL, x, y));
    v = expr_add(&e, EXPR_ADD, v, expr_add(&e, EXPR_GREATER_EQUAL, x, y));
    case_output(c, expr_end(c->b, &e, v));
}

/* The sum over what `out` says: 0 a vector of the channels, 1 per image and channel, 2 per
 * pixel, 3 per row of pixels. */
void case_reduce_sum(struct case_build *c, const struct op_case *row,
                     const struct case_size *s)
{
    const int64_t *d = s->dim;
    const int64_t shape[4][4] = {
        {d[1]}, {d[0], d[1], 1, 1}, {1, 1, d[2], d[3]}, {d[0], 1, d[2], 1}};
    int kind = ((const struct case_reduce *)row->attrs)->kind;
    struct tensor like = {.ndim = kind ? 4 : 1, .layout = LAYOUT_IMAGE};

    for (int k = 0; k < like.ndim; k++)
        like.dim[k] = shape[kind][k];
    case_output(c, reduce_sum(c->b, case_image(c, "x", d, CASE_SIGNED), &like, "sum"));
}
