/*
 * An op defines the meaning of a node, independent of devices. One file each in src/ops/,
 * one row each in ops/table.c.
 *
 * Attributes are a plain struct whose all-zero state is the default; the first member is
 * always `const char *layer`. `attrs` describes its numbers for checks and printing.
 */
#ifndef GRAPH_OP_H
#define GRAPH_OP_H

#include <stdint.h>

#include "graph/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

struct builder;
struct step;
struct node;

enum attr_type { ATTR_END, ATTR_TYPE_INT, ATTR_TYPE_FLOAT };

struct attr {
    const char *name;
    enum attr_type type;
    size_t offset;
    double min, max;
    const char *help;
};

/* int fields and float fields; a value outside [lo, hi], or NaN, stops the build. */
#define ATTR_INT(s, field, lo, hi, text)                                                 \
    {                                                                                    \
        .name = #field, .type = ATTR_TYPE_INT, .offset = offsetof(s, field),             \
        .min = (lo), .max = (hi), .help = (text)                                         \
    }
#define ATTR_FLOAT(s, field, lo, hi, text)                                               \
    {                                                                                    \
        .name = #field, .type = ATTR_TYPE_FLOAT, .offset = offsetof(s, field),           \
        .min = (lo), .max = (hi), .help = (text)                                         \
    }

/*
 * How the precision pass treats a node's floating-point tensors (apex's O1 classes):
 *
 *   HALF    inputs and outputs get the 16-bit type: convolutions, GEMMs
 *   F32     inputs and outputs are fp32: losses, softmax, optimizer
 *   WIDEST  all get the widest type among the inputs: add, batch norm, relu
 *
 * Slots in the masks f32_in and f32_out are always fp32 (bit i: slot i): statistics,
 * weights of norms, gradients of parameters; they are ignored by WIDEST. A view has the
 * type of its base.
 */
enum precision { PRECISION_WIDEST, PRECISION_HALF, PRECISION_F32 };

struct op {
    const char *name;
    const char *(*title)(const struct node *n); /* name in tables; NULL: `name` */
    const struct attr *attrs;                   /* ended by {0}; or NULL */
    size_t attrs_size;
    int nout; /* outputs that the node makes, without written state */
    enum precision precision;
    unsigned f32_in, f32_out;
    bool f32_params; /* parameters among the inputs stay fp32; WIDEST ignores them */
    bool view;       /* out[0] is in[0] with other dims: nothing is computed; see
                * graph/views.c */

    /*
     * Checks inputs and attributes and sets dims, layout, and dtype of every out[] (float
     * outputs: fp32; precision changes that later). Returns NULL, or a static reason.
     */
    const char *(*shape)(struct node *n);

    /*
     * Appends the backward nodes: reads grad_of() of its outputs and calls grad_add() for
     * each input with grad_wanted(). NULL: no gradient flows through this op.
     */
    void (*grad)(struct builder *b, const struct node *n);

    /* Floating-point operations; multiply-accumulates of conv and matmul (NULL: 0), and
     * the number of elements they make (NULL: the first output's). */
    int64_t (*flops)(const struct node *n);
    int64_t (*macs)(const struct node *n);
    int64_t (*acts)(const struct node *n);

    /*
     * The reference: plain C, sums in double, no SIMD, no threads. Floating-point tensors
     * appear as float whatever their dtype: ops/reference.c converts around the call.
     * s->in and s->out follow n->in and n->out (made tensors, then written state);
     * s->workspace has the bytes of ref_scratch (NULL: none), aligned to 64.
     */
    void (*ref)(const struct step *s);
    size_t (*ref_scratch)(const struct node *n);
};

#ifdef __cplusplus
}
#endif

#endif
