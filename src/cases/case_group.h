/*
 * Simulates groups of processes for rows of the op table, which run in one process: all
 * others have the same data, so a mean is the process's own and a sum is `world` times
 * that. The derivative is that of an op without a group, which finite differences show.
 *
 * case_group_alone may also stand for GPUs, as the first one.
 */
#ifndef CASES_CASE_GROUP_H
#define CASES_CASE_GROUP_H

#include "graph/collective.h"

extern const struct collective case_group_alone;
extern const struct collective case_group_of_three; /* this process is the second */

#endif
