/* Shared by graph edits that replace ops by their parts. */
#ifndef OPS_LOWER_H
#define OPS_LOWER_H

#include "graph/graph.h"

/* Replaces output `slot` of n by the old tensor, which keeps its readers and its place. */
void lower_adopt(struct node *n, int slot, struct tensor *old);

#endif
