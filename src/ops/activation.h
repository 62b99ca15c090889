/*
 * Activations: one row each. A row names two instructions of expr (ops/expr_formula.h),
 * the value and its gradient, and says what fusions need to know. An activation is an expr
 * of one instruction:
 *
 *   y = activation(&b, x, "silu", 0, "act")          m: the row's number, if it has one
 *   y = relu(&b, x, "act", .limit = 6)
 */
#ifndef OPS_ACTIVATION_H
#define OPS_ACTIVATION_H

#include "graph/graph.h"
#include "ops/expr_formula.h"

#ifdef __cplusplus
extern "C" {
#endif

struct activation {
    const char *name; /* as in torch.nn.functional, without "torch" */
    enum expr_opcode value, grad;
    bool from_y;       /* the gradient reads y; otherwise x */
    bool not_negative; /* y >= 0 for every x */
    bool keeps_slope;  /* the gradient is right if what it reads was stored in 16 bits:
                        * no kink or pole is within that rounding */
    const char *onnx;  /* its node, if that has no other attribute than alpha; or NULL */
    float m;           /* default of the number; 0: it has none, or none by default */
};

/* Ended by a row without name. */
extern const struct activation activations[];

/* Returns NULL if there is none. */
const struct activation *activation_find(const char *name);
/* The row whose value n computes as its only instruction; NULL if there is none. */
const struct activation *activation_of(const struct node *n);
/* The same for the gradient. */
const struct activation *activation_grad_of(const struct node *n);
/* The number m of either. */
float activation_number(const struct node *n);
/* The row of an instruction; NULL if it is no activation. */
const struct activation *activation_of_opcode(int opcode);

/* m = 0: the row's default. */
struct tensor *activation(struct builder *b, struct tensor *x, const char *name, float m,
                          const char *layer);

/* Inputs of an activation and of its gradient; y or x: see from_y. */
enum { ACTIVATION_X };
enum { ACTIVATION_GRAD_Y, ACTIVATION_GRAD_DY };

struct relu_attrs {
    const char *layer;
    float limit; /* largest output, exact in 16-bit floats; 0 (default): unlimited */
};
#define relu(b, x, ...) relu_((b), (x), &(const struct relu_attrs){.layer = __VA_ARGS__})
struct tensor *relu_(struct builder *b, struct tensor *x, const struct relu_attrs *a);

/* x Phi(x), the exact form with erf, or with tanh = 1 its approximation. Hendrycks and
 * Gimpel 2016 (arXiv 1606.08415) */
struct gelu_attrs {
    const char *layer;
    int tanh;
};
#define gelu(b, x, ...) gelu_((b), (x), &(const struct gelu_attrs){.layer = __VA_ARGS__})
struct tensor *gelu_(struct builder *b, struct tensor *x, const struct gelu_attrs *a);

struct tensor *sigmoid(struct builder *b, struct tensor *x, const char *layer);

/* True for a relu, or its gradient; `plain`: without a limit. */
bool is_relu(const struct node *n);
bool is_relu_grad(const struct node *n);
bool is_plain_relu(const struct node *n);
bool is_plain_relu_grad(const struct node *n);
float relu_limit(const struct node *n); /* of either; 0: none */

/*
 * A graph edit: the result y of a GELU between two linear layers is not kept for the weight
 * gradient of the second one, but computed again together with the GELU's gradient, which
 * reads the same x. The data gradient then precedes the weight gradient.
 */
void activation_lower(struct graph *g);

#ifdef __cplusplus
}
#endif

#endif
