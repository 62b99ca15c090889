/*
 * The program reversed, in two steps. First all values are listed: inputs, outputs, and
 * their gradients, then the forward instructions, then the adjoints of each value from the
 * last instruction to the first. Then each node of the gradient gets the instructions that
 * lead to its outputs, so that only what it needs is computed again.
 */
#include "ops/expr_grad.h"

#include <string.h>

#include "base/error.h"
#include "graph/autodiff.h"
#include "ops/activation.h"
#include "ops/expr.h"
#include "ops/reduce_sum.h"

enum {
    LEAVES = EXPR_INPUTS + 2 * EXPR_OUTPUTS, /* inputs, outputs, gradients of outputs */
    VALUES = LEAVES + 5 * EXPR_INSTRUCTIONS,
    NONE = -1
};

struct reverse {
    const struct node *n;
    struct tensor *leaf[LEAVES];
    int nleaf;
    struct {
        enum expr_opcode opcode;
        int a, b, c;
        float m;
    } code[VALUES]; /* of value nleaf + i */
    int ncode;
    int forward[EXPR_INPUTS + EXPR_INSTRUCTIONS]; /* value here of a value of the node */
    int adjoint[EXPR_INPUTS + EXPR_INSTRUCTIONS]; /* likewise; or NONE */
};

static int emit(struct reverse *r, enum expr_opcode opcode, int a, int b, int c, float m)
{
    int i = r->ncode++;

    if (i >= VALUES - LEAVES)
        die("layer '%s': the gradient of this chain of operations is too long",
            r->n->layer);
    r->code[i].opcode = opcode;
    r->code[i].a = a, r->code[i].b = b, r->code[i].c = c;
    r->code[i].m = m;
    return r->nleaf + i;
}

static int unary(struct reverse *r, enum expr_opcode opcode, int a)
{
    return emit(r, opcode, a, 0, 0, 0);
}

static int binary(struct reverse *r, enum expr_opcode opcode, int a, int b)
{
    return emit(r, opcode, a, b, 0, 0);
}

static int number(struct reverse *r, float m)
{
    return emit(r, EXPR_NUMBER, 0, 0, 0, m);
}

static int scaled(struct reverse *r, int a, float m)
{
    return emit(r, EXPR_SCALE_BY, a, 0, 0, m);
}

static int selected(struct reverse *r, int condition, int yes, int other)
{
    return emit(r, EXPR_SELECT, condition, yes, other, 0);
}

/* Adds g to the adjoint of the node's value v. */
static void accumulate(struct reverse *r, int v, int g)
{
    r->adjoint[v] = r->adjoint[v] == NONE ? g : binary(r, EXPR_ADD, r->adjoint[v], g);
}

/* g goes to the greater of p and q, half to each if they are equal, as in PyTorch. */
static void to_greater(struct reverse *r, int p, int q, int to_p, int to_q, int g)
{
    int half = selected(r, binary(r, EXPR_EQUAL, p, q), scaled(r, g, 0.5f), number(r, 0));

    accumulate(r, to_p, selected(r, binary(r, EXPR_GREATER, p, q), g, half));
    accumulate(r, to_q, selected(r, binary(r, EXPR_GREATER, q, p), g, half));
}

/* Instructions of two and three operands; false if x is not one of them. a, b, y: values
 * here of its operands and its result; g: the adjoint of its result. */
static bool reverse_several(struct reverse *r, const struct expr_instruction *x, int a,
                            int b, int y, int g)
{
    switch (x->opcode) {
    case EXPR_ADD:
        accumulate(r, x->a, g);
        accumulate(r, x->b, g);
        return true;
    case EXPR_SUB:
        accumulate(r, x->a, g);
        accumulate(r, x->b, unary(r, EXPR_NEG, g));
        return true;
    case EXPR_MUL:
        accumulate(r, x->a, binary(r, EXPR_MUL, g, b));
        accumulate(r, x->b, binary(r, EXPR_MUL, g, a));
        return true;
    case EXPR_DIV:
        g = binary(r, EXPR_DIV, g, b);
        accumulate(r, x->a, g);
        accumulate(r, x->b, unary(r, EXPR_NEG, binary(r, EXPR_MUL, g, y)));
        return true;
    case EXPR_MAX:
        to_greater(r, a, b, x->a, x->b, g);
        return true;
    case EXPR_MIN:
        to_greater(r, b, a, x->a, x->b, g);
        return true;
    case EXPR_SELECT:
        accumulate(r, x->b, selected(r, a, g, number(r, 0)));
        accumulate(r, x->c, selected(r, a, number(r, 0), g));
        return true;
    case EXPR_NUMBER:
    case EXPR_GREATER:
    case EXPR_GREATER_EQUAL:
    case EXPR_EQUAL:
    case EXPR_SIGN:
    case EXPR_FLOOR:
        return true; /* constant almost everywhere */
    default:
        return false;
    }
}

/* The adjoint of the operand of an instruction of one operand that is no activation. */
static int reverse_one(struct reverse *r, const struct expr_instruction *x, int a, int y,
                       int g)
{
    switch (x->opcode) {
    case EXPR_ADD_BY:
        return g;
    case EXPR_SCALE_BY:
        return scaled(r, g, x->m);
    case EXPR_SUB_FROM:
    case EXPR_NEG:
        return unary(r, EXPR_NEG, g);
    case EXPR_DIV_INTO:
        return unary(r, EXPR_NEG, binary(r, EXPR_DIV, binary(r, EXPR_MUL, g, y), a));
    case EXPR_AT_LEAST:
        return selected(r, binary(r, EXPR_GREATER_EQUAL, a, number(r, x->m)), g,
                        number(r, 0));
    case EXPR_AT_MOST:
        return selected(r, binary(r, EXPR_GREATER_EQUAL, number(r, x->m), a), g,
                        number(r, 0));
    case EXPR_POWER:
        return binary(r, EXPR_MUL, g,
                      scaled(r, emit(r, EXPR_POWER, a, 0, 0, x->m - 1), x->m));
    case EXPR_ABS:
        return binary(r, EXPR_MUL, g, unary(r, EXPR_SIGN, a));
    case EXPR_SQUARE:
        return scaled(r, binary(r, EXPR_MUL, g, a), 2);
    case EXPR_SQRT:
        return scaled(r, binary(r, EXPR_DIV, g, y), 0.5f);
    case EXPR_RSQRT:
        return scaled(r, binary(r, EXPR_MUL, g, binary(r, EXPR_DIV, y, a)), -0.5f);
    case EXPR_EXP:
        return binary(r, EXPR_MUL, g, y);
    case EXPR_LOG:
        return binary(r, EXPR_DIV, g, a);
    case EXPR_SIN:
        return binary(r, EXPR_MUL, g, unary(r, EXPR_COS, a));
    case EXPR_NORMAL_CDF: /* times exp(-a^2 / 2) / sqrt(2 pi) */
        a = scaled(r, unary(r, EXPR_SQUARE, a), -0.5f);
        return scaled(r, binary(r, EXPR_MUL, g, unary(r, EXPR_EXP, a)), 0.39894228f);
    case EXPR_COS:
        return unary(r, EXPR_NEG, binary(r, EXPR_MUL, g, unary(r, EXPR_SIN, a)));
    default:
        BUG("layer '%s': %s has no gradient", r->n->layer, expr_opcode_name(x->opcode));
    }
}

static void reverse_instruction(struct reverse *r, int i)
{
    const struct expr_attrs *attrs = r->n->attrs;
    const struct expr_instruction *x = attrs->code + i;
    const struct activation *act = activation_of_opcode(x->opcode);
    int a = r->forward[x->a], y = r->forward[r->n->nin + i];
    int g = r->adjoint[r->n->nin + i];

    if (g == NONE)
        return;
    if (act)
        accumulate(r, x->a, emit(r, act->grad, act->from_y ? y : a, g, 0, x->m));
    else if (!reverse_several(r, x, a, r->forward[x->b], y, g))
        accumulate(r, x->a, reverse_one(r, x, a, y, g));
}

/* Lists the leaves and the forward instructions. A value that is an output is read. */
static void list_forward(struct reverse *r)
{
    const struct expr_attrs *a = r->n->attrs;
    int nin = r->n->nin;

    for (int i = 0; i < nin; i++)
        r->forward[i] = i;
    memcpy(r->leaf, r->n->in, (size_t)nin * sizeof(*r->leaf));
    memcpy(r->leaf + nin, r->n->out, (size_t)a->nout * sizeof(*r->leaf));
    for (int i = 0; i < a->n; i++) {
        const struct expr_instruction *x = a->code + i;

        r->forward[nin + i] = emit(r, x->opcode, r->forward[x->a], r->forward[x->b],
                                   r->forward[x->c], x->m);
        for (int k = 0; k < a->nout; k++)
            if (a->out[k] == nin + i)
                r->forward[nin + i] = nin + k;
    }
}

/* Starts with the gradients of the outputs, and walks to the inputs. */
static void list_adjoints(struct builder *b, struct reverse *r)
{
    const struct expr_attrs *a = r->n->attrs;
    int nin = r->n->nin;

    for (int v = 0; v < nin + a->n; v++)
        r->adjoint[v] = NONE;
    for (int k = 0; k < a->nout; k++) {
        int pos = nin + a->nout + k;

        r->leaf[pos] = grad_of(b, r->n->out[k]);
        if (r->leaf[pos])
            accumulate(r, a->out[k], pos);
    }
    for (int i = a->n - 1; i >= 0; i--)
        reverse_instruction(r, i);
}

/* Appends the instructions that lead to value v to e; `known` maps values to those of e. */
static void copy_code(struct reverse *r, struct expr *e, const bool *needed, int *known)
{
    for (int i = 0; i < r->ncode; i++)
        if (needed[r->nleaf + i])
            known[r->nleaf + i] =
                expr_add3(e, r->code[i].opcode, known[r->code[i].a], known[r->code[i].b],
                          known[r->code[i].c], r->code[i].m);
}

static void mark_needed(const struct reverse *r, bool *needed)
{
    for (int i = r->ncode - 1; i >= 0; i--) {
        int operands = expr_opcode_operands((int)r->code[i].opcode);

        if (!needed[r->nleaf + i])
            continue;
        if (operands > 0)
            needed[r->code[i].a] = true;
        if (operands > 1)
            needed[r->code[i].b] = true;
        if (operands > 2)
            needed[r->code[i].c] = true;
    }
}

/* One expr that computes n values; false if it would need too many inputs. */
static bool emit_node(struct builder *b, struct reverse *r, int n, const int *value,
                      struct tensor **result)
{
    bool needed[VALUES] = {false};
    int known[VALUES] = {0}, out[EXPR_OUTPUTS];
    struct tensor *in[EXPR_INPUTS];
    int nin = 0;

    for (int k = 0; k < n; k++)
        needed[value[k]] = true;
    mark_needed(r, needed);
    for (int i = 0; i < r->nleaf; i++) {
        if (!needed[i])
            continue;
        if (nin == EXPR_INPUTS)
            return false;
        known[i] = nin;
        in[nin++] = r->leaf[i];
    }

    struct expr e = expr_start(r->n->layer, nin, in);
    struct node *made;

    copy_code(r, &e, needed, known);
    for (int k = 0; k < n; k++)
        out[k] = known[value[k]];
    made = expr_end_many(b, &e, n, out);
    memcpy(result, made->out, (size_t)n * sizeof(*result));
    return true;
}

static void add_gradient(struct builder *b, const struct node *n, int i,
                         struct tensor *full)
{
    struct tensor *x = n->in[i];

    grad_add(b, x, tensor_same(x, full) ? full : reduce_sum(b, full, x, n->layer));
}

/* True if the adjoint of input i is the gradient of an output, which needs no node. */
static bool passes(const struct reverse *r, int i)
{
    return r->adjoint[i] < r->nleaf;
}

static void add_gradients(struct builder *b, struct reverse *r, int n, const int *input)
{
    struct tensor *result[EXPR_OUTPUTS];
    int value[EXPR_OUTPUTS] = {0};

    for (int k = 0; k < n; k++)
        value[k] = r->adjoint[input[k]];
    if (emit_node(b, r, n, value, result)) {
        for (int k = 0; k < n; k++)
            add_gradient(b, r->n, input[k], result[k]);
        return;
    }
    if (n == 1)
        die("layer '%s': the gradient of this chain of operations reads more than %d "
            "tensors",
            r->n->layer, EXPR_INPUTS);
    for (int k = 0; k < n; k++)
        add_gradients(b, r, 1, input + k);
}

void expr_grad(struct builder *b, const struct node *n)
{
    struct reverse r = {.n = n, .nleaf = n->nin + 2 * n->op->nout};
    int input[EXPR_OUTPUTS], count = 0;

    list_forward(&r);
    list_adjoints(b, &r);
    for (int i = 0; i < n->nin; i++) {
        if (!grad_wanted(n->in[i]) || r.adjoint[i] == NONE)
            continue;
        if (passes(&r, i))
            add_gradient(b, n, i, r.leaf[r.adjoint[i]]);
        else
            input[count++] = i;
        if (count == EXPR_OUTPUTS) {
            add_gradients(b, &r, count, input);
            count = 0;
        }
    }
    if (count)
        add_gradients(b, &r, count, input);
}
