/*
 * The ops of MODEL.LAYERS: one row each, with its arguments, in layers/table.c. Names and
 * meaning of the arguments are PyTorch's; the numbers of input channels and features
 * follow from the input. Errors, help, and documentation come from the rows.
 *
 * A row's build() reads its arguments by name and appends nodes whose parameters are named
 * as those of the PyTorch module:
 *
 *   static struct tensor *linear_build(struct layer_call *c)
 *   {
 *       return linear(c->b, c->in[0], c->layer, .out = layer_int(c, "out_features"), ...);
 *   }
 *
 * It checks shapes before it appends a node: layer_refuse() reports what does not fit, and
 * build() then returns NULL.
 */
#ifndef LAYERS_OP_H
#define LAYERS_OP_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "graph/graph.h"

struct value;

enum layer_arg_type {
    LAYER_INT,
    LAYER_PAIR, /* an int, or [rows, columns] */
    LAYER_FLOAT,
    LAYER_BOOL,
    LAYER_WORD /* one of .words */
};

struct layer_arg {
    const char *name;
    enum layer_arg_type type;
    const char *def;          /* "1", "True", "none"; NULL: none */
    bool optional;            /* may be missing although it has no default */
    double min, max;          /* of numbers; both 0: no limit */
    bool above;               /* greater than min, not equal */
    const char *const *words; /* ended by NULL; of LAYER_PAIR: accepted instead */
    const char *help;
};

enum { LAYER_ARGS = 8, LAYER_INPUTS = 8 };

/* The value of an argument. */
struct layer_value {
    bool given; /* or it has a default */
    double number;
    int pair[2];      /* LAYER_PAIR: rows, columns; LAYER_INT and LAYER_BOOL: [0] */
    const char *word; /* of .words, or NULL */
};

struct layer_call {
    struct builder *b;
    const char *layer; /* its full name */
    const struct layer_op *op;
    struct tensor *const *in;
    int nin;
    struct layer_value value[LAYER_ARGS];
    struct strbuf *why; /* not empty: refused */
};

struct layer_op {
    const char *name;
    const char *torch; /* what it is in PyTorch: "nn.Conv2d"; `name`: the function */
    const char *help;
    int min_in, max_in;           /* inputs */
    const struct layer_arg *args; /* ended by a row without name; or NULL */
    struct tensor *(*build)(struct layer_call *c);
};

/* Returns op i, or one without name after the last. Activations (ops/activation.h) follow
 * the rows of the table. */
struct layer_op layer_op_at(int i);
/* Returns false if there is none; then appends a suggestion to `why`, if there is one. */
bool layer_op_find(const char *name, struct layer_op *op, struct strbuf *why);

/* Appends "int or [rows, columns], at least 1". */
void layer_arg_add_type(struct strbuf *s, const struct layer_arg *a);

/* ---- for build() ---- */

/* Keeps the first reason; returns NULL. */
__attribute__((format(printf, 2, 3))) struct tensor *layer_refuse(struct layer_call *c,
                                                                  const char *fmt, ...);

bool layer_given(const struct layer_call *c, const char *arg);
int layer_int(const struct layer_call *c, const char *arg); /* of a bool: 0 or 1 */
double layer_float(const struct layer_call *c, const char *arg);
const char *layer_word(const struct layer_call *c, const char *arg); /* or NULL */
const int *layer_pair(const struct layer_call *c, const char *arg);

/* Appends a shape as PyTorch prints it, with the batch as N: [N, 64, 56, 56]. */
void layer_add_shape(struct strbuf *s, const struct tensor *t);
/* Refuses an input that is not an image [N, C, H, W], or not [N, features]. */
bool layer_wants_image(struct layer_call *c, const struct tensor *x);
bool layer_wants_vector(struct layer_call *c, const struct tensor *x);
/* Refuses results of less than a pixel or more than 2^16 per side. */
bool layer_wants_size(struct layer_call *c, int64_t height, int64_t width);
/* Refuses a weight of more than 2^32 elements. */
bool layer_wants_weights(struct layer_call *c, double elements);

/* ---- build() of the rows ---- */

typedef struct tensor *layer_build_fn(struct layer_call *c);
layer_build_fn layer_conv2d, layer_conv_transpose2d, layer_linear, layer_flatten;
layer_build_fn layer_batchnorm, layer_groupnorm, layer_layernorm, layer_layernorm2d;
layer_build_fn layer_maxpool2d, layer_avgpool2d, layer_adaptive_avgpool2d,
    layer_adaptive_maxpool2d, layer_global_avgpool, layer_upsample;
layer_build_fn layer_dropout, layer_dropout2d, layer_drop_path;
layer_build_fn layer_activation, layer_squeeze_excite, layer_concat, layer_add, layer_mul,
    layer_identity;

#endif
