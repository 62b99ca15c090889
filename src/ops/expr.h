/*
 * expr: a short program over elements, with inputs that broadcast. One op for all chains of
 * pointwise operations, such as y = silu(x scale + shift) + residual.
 *
 *   struct expr e = expr_start("layer", 2, (struct tensor *[]){x, shift});
 *   int v = expr_add(&e, EXPR_ADD, 0, 1);           values 0 and 1: the inputs
 *   v = expr_add(&e, EXPR_SILU, v);                 each instruction makes the next value
 *   y = expr_end(&b, &e, v);
 *
 * At most EXPR_INPUTS inputs, EXPR_OUTPUTS outputs, and EXPR_INSTRUCTIONS instructions
 * (ops/expr_formula.h lists them). All outputs have the shape that the inputs broadcast
 * to: an input has the same layout and number of dims, each equal to the result's or 1, or
 * it is a plain vector with a number for each channel. At least one input has the full
 * shape.
 *
 * The gradient is the program reversed: one expr computes the gradients of all inputs of
 * the full shape, and another one, followed by reduce_sum (ops/reduce_sum.h), that of each
 * broadcast input. In mixed precision, an expr has the widest type among its inputs;
 * parameters stay fp32 and do not count.
 */
#ifndef OPS_EXPR_H
#define OPS_EXPR_H

#include "graph/graph.h"
#include "ops/expr_formula.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A program has at most 32 instructions when built; its gradient has up to three times as
 * many. */
enum { EXPR_INPUTS = 8, EXPR_OUTPUTS = 4, EXPR_INSTRUCTIONS = 96 };

struct expr_instruction {
    uint8_t opcode;  /* enum expr_opcode */
    uint8_t a, b, c; /* values: inputs first, then results of earlier instructions */
    float m;
};

struct expr_attrs {
    const char *layer;
    int n, nout;
    struct expr_instruction code[EXPR_INSTRUCTIONS];
    uint8_t out[EXPR_OUTPUTS]; /* values */
};

struct expr {
    struct expr_attrs attrs;
    struct tensor *in[EXPR_INPUTS];
    int nin;
};

struct expr expr_start(const char *layer, int nin, struct tensor *const *in);
/* Returns the new value. expr_number: with the number m. */
int expr_add3(struct expr *e, enum expr_opcode opcode, int a, int b, int c, float m);
#define expr_add(...)                    EXPR_PICK(__VA_ARGS__, expr_add_2, expr_add_1, )(__VA_ARGS__)
#define EXPR_PICK(e, op, a, b, fn, ...)  fn
#define expr_add_1(e, op, a)             expr_add3(e, op, a, 0, 0, 0)
#define expr_add_2(e, op, a, b)          expr_add3(e, op, a, b, 0, 0)
#define expr_number(e, op, a, m)         expr_add3(e, op, a, 0, 0, m)
#define expr_select(e, cond, yes, other) expr_add3(e, EXPR_SELECT, cond, yes, other, 0)
/* Appends the node; returns its first output. */
struct tensor *expr_end(struct builder *b, struct expr *e, int value);
struct node *expr_end_many(struct builder *b, struct expr *e, int nout, const int *value);

/* x m */
struct tensor *expr_scale_by(struct builder *b, struct tensor *x, float m,
                             const char *layer);

bool node_is_expr(const struct node *n);
/* True if n is the single instruction `opcode` of inputs of one shape, in order. */
bool expr_is(const struct node *n, enum expr_opcode opcode);
/* The only instruction of n; NULL if n is no expr, or has several, several outputs, or
 * broadcasts. */
const struct expr_instruction *expr_single(const struct node *n);

const char *expr_opcode_name(int opcode);
int expr_opcode_operands(int opcode);

/* Element strides of input i in the result's logical dims; 0 where it broadcasts. */
void expr_strides(const struct node *n, int i, int64_t stride[TENSOR_DIMS]);

/*
 * The result as nested loops, outermost first, in the order in which it is stored; loops
 * that are contiguous for all inputs are merged. The innermost loop has stride 1 in the
 * result.
 */
struct expr_loops {
    int n;
    int64_t len[TENSOR_DIMS];
    int64_t stride[EXPR_INPUTS][TENSOR_DIMS];
};
void expr_loops(const struct node *n, struct expr_loops *loops);

/* By number of outputs - 1. */
extern const struct op op_expr[EXPR_OUTPUTS];

#ifdef __cplusplus
}
#endif

#endif
