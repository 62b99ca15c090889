/* Models by name, and nets with initialized weights that are not run. */
#ifndef TESTS_MODELS_NET_H
#define TESTS_MODELS_NET_H

#include "graph/flat.h"
#include "models/table.h"

/* Returns the model of that name in any family; fails the test if there is none. */
const struct model *model_named(const char *name);

/* A net of 10 classes for images of 64 x 64, with its flat weights. */
struct net {
    struct graph *g;
    float *w; /* g->flat->weights_len */
};
struct net net_new(const char *name, struct model_options o, uint64_t seed);
void net_release(struct net *n);

#endif
