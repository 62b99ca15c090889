/* From the TRAIN.OPTIMIZER keys to the optimizer and its hyperparameters. */
#ifndef SESSION_OPTIMIZER_CONFIG_H
#define SESSION_OPTIMIZER_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "ops/optimizer.h"

/* Checks that the optimizer exists and reads the keys that are set. For the check() of
 * verbs that have a configuration. */
void optimizer_config_check(const struct config *cfg, struct problems *p);

/* Returns the row of TRAIN.OPTIMIZER.NAME; ends with usage() if there is none. */
const struct optimizer *optimizer_of_config(const struct config *cfg);

struct hyperparameters hyperparameters_of_config(const struct config *cfg);

#endif
