/*
 * What a layer of MODEL.LAYERS says, as values: names of a block's arguments are replaced,
 * and texts in place of numbers are expressions (layers/expression.h).
 */
#ifndef LAYERS_ARGUMENTS_H
#define LAYERS_ARGUMENTS_H

#include "config/value.h"
#include "layers/op.h"

/* A name that expressions may have. */
struct layer_name {
    const char *name;
    struct value value;
    bool given, used;
};

/* The names at a place. */
struct layer_names {
    struct layer_name *item; /* arguments of the block */
    int n;
    int64_t classes;     /* num_classes */
    int64_t in_channels; /* of the layer's input; 0: it has none */
};

/* Returns the value of `v`: that of a name, or of an expression, otherwise v itself. */
struct value layer_resolve(struct layer_names *names, const struct value *v);

/*
 * Fills c->value from the mapping of a layer (a text: without arguments), whose keys of
 * all layers (name, op, from, repeat) are left out. Refuses unknown, missing, and invalid
 * arguments.
 */
void layer_read_arguments(struct layer_call *c, struct layer_names *names,
                          const struct value *map);

/* True for the keys that every layer may have. */
bool layer_is_common_key(const char *key);
/* Appends " (did you mean NAME?)" if the argument of an op or a key is meant. */
void layer_suggest_argument(struct strbuf *why, const struct layer_arg *args,
                            const char *key);

#endif
