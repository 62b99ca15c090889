/*
 * What layers/build.c (lists and their layers) and layers/build_call.c (ops and blocks) share.
 * Private to src/layers.
 */
#ifndef LAYERS_BUILD_PARTS_H
#define LAYERS_BUILD_PARTS_H

#include "base/strmap.h"
#include "layers/arguments.h"
#include "layers/build.h"

/* A network that is being built. */
struct build {
    struct builder *b;
    const struct layers_source *s;
    int64_t classes;
    struct strbuf *why;
    const char *origin; /* config_origin() of the key that is being read */
    int line, depth, nlayers;
    char *location;                 /* layers_built.location */
    struct strmap layers;           /* full names */
    struct tensor *last, *features; /* outputs of layers */
    const char *last_name;
    bool *called; /* of each block of s->blocks */
};

/* The output of a layer, or an input. */
struct output {
    const char *name;
    struct tensor *x;
    int line;
    bool used;
};

/* A list that is being built. */
struct list {
    struct build *c;
    const struct value *value;
    const char *prefix; /* of full names, with its dot */
    struct layer_names *names;
    struct output *out; /* inputs, then layers */
    int nin, n;
};

/* A call of a block or of an op. */
struct layer {
    const char *name, *full;
    const char *op;
    const struct value *map;
    struct tensor *in[LAYER_INPUTS];
    int nin;
};

/* Keeps the first reason, and its origin. */
__attribute__((format(printf, 2, 3))) void build_fail(struct build *c, const char *fmt,
                                                      ...);
bool build_failed(const struct build *c);

/* Returns ab, which lives as long as the graph. */
const char *build_joined(struct build *c, const char *a, const char *b);
/* True if the text can be the name of a layer. */
bool build_is_name(const char *s);

/* Returns the block of this name, or NULL. */
const struct value *build_find_block(struct build *c, const char *name);

/* Builds a list whose inputs have these names. Returns its output; NULL: refused. */
struct tensor *build_list(struct build *c, const struct value *list, const char *prefix,
                          struct layer_names *names, const char *const *input,
                          struct tensor *const *in, int nin);

/* Builds an op, a block, or a list within a list. Returns its output; NULL: refused. */
struct tensor *build_call(struct list *l, const struct layer *y);

#endif
