/*
 * Regions of a program that are graphs of their own, of autocast and no_grad: their nodes
 * take the place of the node that calls them.
 */
#ifndef PT2_INLINE_H
#define PT2_INLINE_H

#include "io/json.h"

/* Changes the JSON of a program. Returns NULL, or why a region is refused. */
const char *pt2_inline(json_t *root);

#endif
