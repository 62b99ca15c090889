/*
 * Groups of processes for rows of the op table, which have one process: all others have
 * what this one has, so a mean is its own and a sum is `world` times that. The derivative
 * of what is computed so is that of an op without a group, which differences show.
 *
 * case_group_alone may stand for GPUs, too, of which it has the first.
 */
#ifndef CASES_CASE_GROUP_H
#define CASES_CASE_GROUP_H

#include "graph/collective.h"

extern const struct collective case_group_alone;
extern const struct collective case_group_of_three; /* this one is the second */

#endif
