/* trainc summary: prints a line per group of TRAIN.OPTIMIZER.GROUPS; nothing if it is
 * empty. */
#ifndef CMD_SUMMARY_GROUPS_H
#define CMD_SUMMARY_GROUPS_H

#include "session/session.h"

/* graph: the training graph. */
void summary_groups_print(const struct session *s, const struct graph *graph);

#endif
