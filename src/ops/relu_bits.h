/*
 * relu that also stores where its gradient passes, one bit per element, and the gradient
 * that reads these bits instead of y: for backends whose kernels can write them with y.
 *
 *   relu_bits        x -> y, bits
 *   relu_bits_grad   bits, dy -> dx
 *
 * Bit c % 8 of byte c / 8 belongs to channel c, so `bits` are bytes with an eighth of the
 * channels, which are a multiple of 8. A library that both writes and reads the bits of a
 * relu may have another order.
 *
 * Models do not create them: relu_bits_lower() does, from relu and its gradient.
 */
#ifndef OPS_RELU_BITS_H
#define OPS_RELU_BITS_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

struct device;

struct relu_bits_attrs {
    const char *layer;
    float limit; /* as of relu; unused by the gradient */
    int order;   /* enum relu_bits_order, or a backend's number of a library's order */
};

enum relu_bits_order {
    RELU_BITS_NONE, /* no bits */
    RELU_BITS_PLAIN,
    RELU_BITS_LIBRARY /* the first of a backend's numbers */
};

enum { RELU_BITS_X };
enum { RELU_BITS_Y, RELU_BITS_BITS };
enum { RELU_BITS_GRAD_BITS, RELU_BITS_GRAD_DY };

extern const struct op op_relu_bits, op_relu_bits_grad;

/* Returns the order of the bits that `grad`, the gradient of `relu`, should read, or
 * RELU_BITS_NONE. */
typedef int relu_bits_fn(struct graph *g, struct node *relu, struct node *grad,
                         struct device *dev);

/*
 * Replaces each relu that has one gradient, and the gradient, by these ops if `order` says
 * so and the channels are a multiple of 8. Results keep their tensors.
 */
void relu_bits_lower(struct graph *g, relu_bits_fn *order, struct device *dev);

/* True for either op in this order. */
bool relu_bits_are(const struct node *n, const struct op *op, int order);

#ifdef __cplusplus
}
#endif

#endif
