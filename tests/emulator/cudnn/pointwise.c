/* Pointwise operations, in double. struct walk does the broadcasting. */
#include <math.h>

#include "tests/emulator/cudnn/run.h"

/* cuDNN's relu turns NaN into the bound unless told to keep it. */
static double relu(const struct op *op, double x)
{
    if (isnan(x))
        return op->keep_nan ? x : op->lower;
    if (x <= op->lower)
        return op->lower + op->slope * (x - op->lower);
    return x < op->upper ? x : op->upper;
}

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
}

static double gelu_slope(double x)
{
    return 0.5 * (1 + erf(x * M_SQRT1_2)) + x * exp(-0.5 * x * x) * 0.3989422804014327;
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static double gelu_tanh_slope(double x)
{
    double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));

    return 0.5 * (1 + t) +
           0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double one_input(const struct op *op, double x)
{
    switch (op->mode) {
    case CUDNN_POINTWISE_ABS:
        return fabs(x);
    case CUDNN_POINTWISE_CEIL:
        return ceil(x);
    case CUDNN_POINTWISE_COS:
        return cos(x);
    case CUDNN_POINTWISE_EXP:
        return exp(x);
    case CUDNN_POINTWISE_FLOOR:
        return floor(x);
    case CUDNN_POINTWISE_LOG:
        return log(x);
    case CUDNN_POINTWISE_NEG:
        return -x;
    case CUDNN_POINTWISE_RSQRT:
        return 1 / sqrt(x);
    case CUDNN_POINTWISE_SIN:
        return sin(x);
    case CUDNN_POINTWISE_SQRT:
        return sqrt(x);
    case CUDNN_POINTWISE_TAN:
        return tan(x);
    case CUDNN_POINTWISE_ERF:
        return erf(x);
    case CUDNN_POINTWISE_RECIPROCAL:
        return 1 / x;
    case CUDNN_POINTWISE_RELU_FWD:
        return relu(op, x);
    case CUDNN_POINTWISE_TANH_FWD:
        return tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
        return sigmoid(x);
    case CUDNN_POINTWISE_ELU_FWD:
        return x > 0 ? x : op->elu_alpha * expm1(x);
    case CUDNN_POINTWISE_GELU_FWD:
        return gelu(x);
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
        return log1p(exp(op->softplus_beta * x)) / op->softplus_beta;
    case CUDNN_POINTWISE_SWISH_FWD:
        return x * sigmoid(op->swish_beta * x);
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
        return gelu_tanh(x);
    case CUDNN_POINTWISE_LOGICAL_NOT:
        return x == 0;
    default: /* CUDNN_POINTWISE_IDENTITY */
        return x;
    }
}

/* Returns dx, given the forward input x and the gradient dy. */
static double backward(const struct op *op, double x, double dy)
{
    double s;

    switch (op->mode) {
    case CUDNN_POINTWISE_RELU_BWD:
        if (isnan(x))
            return op->keep_nan ? dy : 0;
        if (x <= op->lower) /* selection, not multiplication: NaN does not pass */
            return op->slope != 0 ? op->slope * dy : 0;
        return x < op->upper ? dy : 0;
    case CUDNN_POINTWISE_TANH_BWD:
        return dy * (1 - tanh(x) * tanh(x));
    case CUDNN_POINTWISE_SIGMOID_BWD:
        return dy * sigmoid(x) * (1 - sigmoid(x));
    case CUDNN_POINTWISE_ELU_BWD:
        return x > 0 ? dy : dy * op->elu_alpha * exp(x);
    case CUDNN_POINTWISE_GELU_BWD:
        return dy * gelu_slope(x);
    case CUDNN_POINTWISE_SOFTPLUS_BWD:
        return dy * sigmoid(op->softplus_beta * x);
    case CUDNN_POINTWISE_SWISH_BWD:
        s = sigmoid(op->swish_beta * x);
        return dy * (s + op->swish_beta * x * s * (1 - s));
    default: /* CUDNN_POINTWISE_GELU_APPROX_TANH_BWD */
        return dy * gelu_tanh_slope(x);
    }
}

static double two_inputs(const struct op *op, double x, double b)
{
    switch (op->mode) {
    case CUDNN_POINTWISE_ADD:
        return x + b;
    case CUDNN_POINTWISE_ADD_SQUARE:
        return x + b * b;
    case CUDNN_POINTWISE_DIV:
        return x / b;
    case CUDNN_POINTWISE_MAX:
        return fmax(x, b);
    case CUDNN_POINTWISE_MIN:
        return fmin(x, b);
    case CUDNN_POINTWISE_MOD:
        return fmod(x, b);
    case CUDNN_POINTWISE_MUL:
        return x * b;
    case CUDNN_POINTWISE_POW:
        return pow(x, b);
    case CUDNN_POINTWISE_SUB:
        return x - b;
    case CUDNN_POINTWISE_CMP_EQ:
        return x == b;
    case CUDNN_POINTWISE_CMP_NEQ:
        return x != b;
    case CUDNN_POINTWISE_CMP_GT:
        return x > b;
    case CUDNN_POINTWISE_CMP_GE:
        return x >= b;
    case CUDNN_POINTWISE_CMP_LT:
        return x < b;
    case CUDNN_POINTWISE_CMP_LE:
        return x <= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
        return x != 0 && b != 0;
    case CUDNN_POINTWISE_LOGICAL_OR:
        return x != 0 || b != 0;
    default:
        return backward(op, x, b);
    }
}

int pointwise_inputs(int mode)
{
    if (mode == CUDNN_POINTWISE_BINARY_SELECT)
        return 3;
    if (mode == CUDNN_POINTWISE_SQRT || mode == CUDNN_POINTWISE_LOGICAL_NOT ||
        mode == CUDNN_POINTWISE_GEN_INDEX)
        return 1;
    if (mode >= 0 && mode <= CUDNN_POINTWISE_SUB)
        return 2;
    if (mode >= CUDNN_POINTWISE_ABS && mode <= CUDNN_POINTWISE_RECIPROCAL)
        return 1;
    if (mode >= CUDNN_POINTWISE_RELU_FWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_FWD)
        return 1;
    if ((mode >= CUDNN_POINTWISE_RELU_BWD &&
         mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) ||
        (mode >= CUDNN_POINTWISE_CMP_EQ && mode <= CUDNN_POINTWISE_CMP_LE) ||
        mode == CUDNN_POINTWISE_LOGICAL_AND || mode == CUDNN_POINTWISE_LOGICAL_OR)
        return 2;
    return 0;
}

/* max(NaN, 0) = 0, as in some engines: for a relu, and for a stored sum, whose bound is
 * -infinity. */
static double clip(const struct run *r, const struct op *op, double y)
{
    bool relu = op->mode == CUDNN_POINTWISE_RELU_FWD;
    bool sum = op->mode == CUDNN_POINTWISE_ADD && r->tensor[op->slot[PW_Y]].real;

    return isnan(y) && (relu || sum) ? relu ? op->lower : -INFINITY : y;
}

void run_pointwise(const struct run *r, const struct op *op)
{
    bool back = op->slot[PW_DX] >= 0;
    const struct value *x = run_in(r, op, PW_X), *t = run_in(r, op, PW_T);
    const struct value *b = run_in(r, op, back ? PW_DY : PW_B);
    struct value *y = run_out(r, op, back ? PW_DX : PW_Y);
    struct walk w;

    walk_start(&w, y, x, b, t);
    do {
        double xv = op->alpha * (double)x->v[w.offset[0]];
        double bv = b ? op->beta * (double)b->v[w.offset[1]] : 0;

        if (op->mode == CUDNN_POINTWISE_GEN_INDEX)
            y->v[w.i] = (float)w.index[op->axis];
        else if (t)
            y->v[w.i] = (float)(t->v[w.offset[2]] != 0 ? xv : bv);
        else
            y->v[w.i] = (float)(b ? two_inputs(op, xv, bv) : one_input(op, xv));
        if (r->clips)
            y->v[w.i] = (float)clip(r, op, (double)y->v[w.i]);
    } while (walk_next(&w));
}
