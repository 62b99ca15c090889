#include "ops/expr.h"

#include <string.h>

#include "base/error.h"
#include "graph/kernel.h"
#include "ops/activation.h"
#include "ops/expr_grad.h"
#include "ops/image.h"

static const struct {
    const char *name;
    int operands;
} opcodes[] = {
#define ROW(NAME, name, operands, formula) {#name, operands},
    EXPR_OPCODES(ROW)
#undef ROW
};

const char *expr_opcode_name(int opcode)
{
    return opcodes[opcode].name;
}

int expr_opcode_operands(int opcode)
{
    return opcodes[opcode].operands;
}

struct expr expr_start(const char *layer, int nin, struct tensor *const *in)
{
    struct expr e = {.attrs.layer = layer, .nin = nin};

    if (nin < 1 || nin > EXPR_INPUTS)
        BUG("layer '%s': an expr of %d inputs", layer, nin);
    memcpy(e.in, in, (size_t)nin * sizeof(*in));
    return e;
}

int expr_add3(struct expr *e, enum expr_opcode opcode, int a, int b, int c, float m)
{
    if (e->attrs.n == EXPR_INSTRUCTIONS)
        BUG("layer '%s': an expr of more than %d instructions", e->attrs.layer,
            EXPR_INSTRUCTIONS);
    e->attrs.code[e->attrs.n++] =
        (struct expr_instruction){(uint8_t)opcode, (uint8_t)a, (uint8_t)b, (uint8_t)c, m};
    return e->nin + e->attrs.n - 1;
}

struct node *expr_end_many(struct builder *b, struct expr *e, int nout, const int *value)
{
    e->attrs.nout = nout;
    for (int k = 0; k < nout; k++)
        e->attrs.out[k] = (uint8_t)value[k];
    return node(b, &op_expr[nout - 1], e->attrs.layer, &e->attrs, e->in, e->nin)
        ->producer;
}

struct tensor *expr_end(struct builder *b, struct expr *e, int value)
{
    return expr_end_many(b, e, 1, &value)->out[0];
}

struct tensor *expr_scale_by(struct builder *b, struct tensor *x, float m,
                             const char *layer)
{
    struct expr e = expr_start(layer, 1, &x);

    return expr_end(b, &e, expr_number(&e, EXPR_SCALE_BY, 0, m));
}

bool node_is_expr(const struct node *n)
{
    return n->op >= op_expr && n->op < op_expr + EXPR_OUTPUTS;
}

const struct expr_instruction *expr_single(const struct node *n)
{
    const struct expr_attrs *a = n->attrs;

    if (n->op != &op_expr[0] || a->n != 1 || n->nin != opcodes[a->code[0].opcode].operands)
        return NULL;
    if (a->code[0].a != 0 || (n->nin > 1 && a->code[0].b != 1) ||
        (n->nin > 2 && a->code[0].c != 2))
        return NULL;
    for (int i = 0; i < n->nin; i++)
        if (!tensor_same(n->in[i], n->out[0]))
            return NULL;
    return a->code;
}

bool expr_is(const struct node *n, enum expr_opcode opcode)
{
    const struct expr_instruction *one = expr_single(n);

    return one && one->opcode == opcode;
}

/* ---- shape ---- */

static const char *code_error(const struct node *n, const struct expr_attrs *a)
{
    if (a->n < 0 || a->n > EXPR_INSTRUCTIONS || a->nout != n->op->nout)
        return "the program is invalid";
    for (int i = 0; i < a->n; i++) {
        const struct expr_instruction *x = a->code + i;
        int known = n->nin + i;

        if (x->opcode >= EXPR_OPCODE_COUNT || x->a >= known || x->b >= known ||
            x->c >= known)
            return "an instruction is invalid";
    }
    for (int k = 0; k < a->nout; k++)
        if (a->out[k] >= n->nin + a->n)
            return "an output is invalid";
    return NULL;
}

/* True if t has the dims of `dst`, or 1. */
static bool broadcasts(const struct tensor *t, const struct tensor *dst)
{
    if (t->ndim == 1 && dst->ndim > 1 && tensor_is_vector(t, tensor_channels(dst)))
        return true;
    if (t->ndim != dst->ndim || t->layout != dst->layout)
        return false;
    for (int d = 0; d < t->ndim; d++)
        if (t->dim[d] != dst->dim[d] && t->dim[d] != 1)
            return false;
    return true;
}

static const char *expr_shape(struct node *n)
{
    const struct expr_attrs *a = n->attrs;
    const struct tensor *full = n->in[0];
    const char *error;

    if (n->nin > EXPR_INPUTS)
        return "too many inputs";
    error = code_error(n, a);
    if (error)
        return error;
    for (int i = 1; i < n->nin; i++)
        if (tensor_len(n->in[i]) > tensor_len(full) ||
            (tensor_len(n->in[i]) == tensor_len(full) && n->in[i]->ndim > full->ndim))
            full = n->in[i];
    for (int i = 0; i < n->nin; i++)
        if (!tensor_is_float(n->in[i]) || !broadcasts(n->in[i], full))
            return "the inputs do not broadcast to one shape";
    for (int k = 0; k < a->nout; k++)
        tensor_like(n->out[k], full);
    return NULL;
}

/* An exponential, logarithm, or division is counted as one operation. */
static int opcode_flops(int opcode)
{
    const struct activation *a = activation_of_opcode(opcode);

    if (opcode == EXPR_NUMBER)
        return 0;
    if (opcode == EXPR_GELU || opcode == EXPR_GELU_TANH)
        return 8;
    if (opcode == EXPR_GELU_GRAD || opcode == EXPR_GELU_TANH_GRAD)
        return 12;
    return a && opcode != EXPR_RELU ? 3 : opcode == EXPR_SIGMOID_GRAD ? 3 : 1;
}

static int64_t expr_flops(const struct node *n)
{
    const struct expr_attrs *a = n->attrs;
    int64_t flops = 0;

    for (int i = 0; i < a->n; i++)
        flops += opcode_flops(a->code[i].opcode);
    return flops * tensor_len(n->out[0]);
}

void expr_strides(const struct node *n, int i, int64_t stride[TENSOR_DIMS])
{
    const struct tensor *t = n->in[i], *dst = n->out[0];

    memset(stride, 0, TENSOR_DIMS * sizeof(*stride));
    if (t->ndim == 1 && dst->ndim > 1) {
        stride[tensor_is_image(dst) ? IMAGE_C : dst->ndim - 1] = 1;
        return;
    }
    tensor_strides(t, stride);
    for (int d = 0; d < t->ndim; d++)
        if (t->dim[d] != dst->dim[d])
            stride[d] = 0;
}

/* True if loop d continues loop l of every input. */
static bool continues(const struct expr_loops *loops, int nin,
                      int64_t stride[][TENSOR_DIMS], int d, int64_t len)
{
    for (int i = 0; i < nin; i++)
        if (loops->stride[i][loops->n - 1] != stride[i][d] * len)
            return false;
    return true;
}

void expr_loops(const struct node *n, struct expr_loops *loops)
{
    static const int image[] = {IMAGE_N, IMAGE_H, IMAGE_W, IMAGE_C};
    const struct tensor *dst = n->out[0];
    int64_t stride[EXPR_INPUTS][TENSOR_DIMS];

    memset(loops, 0, sizeof(*loops));
    for (int i = 0; i < n->nin; i++)
        expr_strides(n, i, stride[i]);
    for (int k = 0; k < dst->ndim; k++) {
        int d = tensor_is_image(dst) ? image[k] : k;

        if (dst->dim[d] == 1 && (loops->n || k < dst->ndim - 1))
            continue;
        if (!loops->n || !continues(loops, n->nin, stride, d, dst->dim[d]))
            loops->len[loops->n++] = 1;
        loops->len[loops->n - 1] *= dst->dim[d];
        for (int i = 0; i < n->nin; i++)
            loops->stride[i][loops->n - 1] = stride[i][d];
    }
}

/* ---- reference ---- */

static void expr_element(const struct step *s, const int64_t *ptr, int64_t i)
{
    const struct expr_attrs *a = s->node->attrs;
    double v[EXPR_INPUTS + EXPR_INSTRUCTIONS];
    int nin = s->node->nin;

    for (int k = 0; k < nin; k++)
        v[k] = ((const float *)s->in[k])[ptr[k]];
    for (int k = 0; k < a->n; k++) {
        const struct expr_instruction *x = a->code + k;

        v[nin + k] = expr_value_double(x->opcode, v[x->a], v[x->b], v[x->c], x->m);
    }
    for (int k = 0; k < a->nout; k++)
        ((float *)s->out[k])[i] = (float)v[a->out[k]];
}

static void expr_ref(const struct step *s)
{
    struct expr_loops loops;
    int64_t len = tensor_len(s->node->out[0]), pos[EXPR_INPUTS];

    expr_loops(s->node, &loops);
    for (int64_t i = 0; i < len; i++) {
        int64_t rest = i;

        memset(pos, 0, sizeof(pos));
        for (int d = loops.n - 1; d >= 0; d--) {
            for (int k = 0; k < s->node->nin; k++)
                pos[k] += rest % loops.len[d] * loops.stride[k][d];
            rest /= loops.len[d];
        }
        expr_element(s, pos, i);
    }
}

/* The opcode's name if there is only one instruction. */
static const char *expr_title(const struct node *n)
{
    const struct expr_attrs *a = n->attrs;

    return a->n == 1 ? expr_opcode_name(a->code[0].opcode) : "expr";
}

#define EXPR(outputs)                                                                    \
    {                                                                                    \
        .name = outputs == 1 ? "expr" : "expr" #outputs, .title = expr_title,            \
        .attrs_size = sizeof(struct expr_attrs), .nout = outputs,                        \
        .precision = PRECISION_WIDEST, .f32_params = true, .shape = expr_shape,          \
        .grad = expr_grad, .flops = expr_flops, .ref = expr_ref,                         \
    }

const struct op op_expr[EXPR_OUTPUTS] = {EXPR(1), EXPR(2), EXPR(3), EXPR(4)};
