/* trainc summary: TRAIN.OPTIMIZER.GROUPS, a line for each; without them there is
 * nothing. */
#ifndef CMD_SUMMARY_GROUPS_H
#define CMD_SUMMARY_GROUPS_H

#include "session/session.h"

/* `graph`: of training. */
void summary_groups_print(const struct session *s, const struct graph *graph);

#endif
