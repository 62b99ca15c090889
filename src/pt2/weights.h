/*
 * The weights of a program as parameters and buffers of the graph, and its constants.
 * pt2_import() calls these before it maps nodes.
 */
#ifndef PT2_WEIGHTS_H
#define PT2_WEIGHTS_H

#include "pt2/import.h"

/* Makes the weights of c->p; c->reads must be known. */
void pt2_weights_make(struct pt2_import *c);

/*
 * Continues with p, the evaluation graph of c->p (pt2/pair.h): its weights are those that
 * pt2_weights_make() made, by their names in the state dict, so that both graphs have the
 * same weights in the same order. Its constants are its own.
 */
void pt2_weights_adopt(struct pt2_import *c, const struct pt2_program *p);

#endif
