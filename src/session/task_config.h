/* MODEL.TASK: what each task reads, and what cannot be combined with it. */
#ifndef SESSION_TASK_CONFIG_H
#define SESSION_TASK_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "models/table.h"

/* Most classes of MODEL.TASK ordinal, whose scores compare all pairs of classes. */
enum { ORDINAL_CLASSES = 256 };

/* Part of model_check. `m` may be NULL (unknown). */
void task_check(const struct config *cfg, const struct model *m, struct problems *p);

/* Refuses keys of losses of one class per image; unless `weights`, those that weigh
 * classes, too. */
void task_check_single(const struct config *cfg, bool weights, struct problems *p);

/* Returns the value of MODEL.TASK for a task: "multilabel". */
const char *task_name(enum model_task task);

#endif
