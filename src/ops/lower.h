/* What edits of a graph that replace ops by their parts share. */
#ifndef OPS_LOWER_H
#define OPS_LOWER_H

#include "graph/graph.h"

/* Output `slot` of n becomes the old tensor, whoever reads it and wherever it lies. */
void lower_adopt(struct node *n, int slot, struct tensor *old);

#endif
