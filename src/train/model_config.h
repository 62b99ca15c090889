/*
 * From the MODEL keys of a configuration to the model that they describe.
 */
#ifndef TRAIN_MODEL_CONFIG_H
#define TRAIN_MODEL_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "models/table.h"

/* What is wrong with the MODEL keys: for the check() of a verb that builds the model. */
void model_check(const struct config *cfg, struct problems *p);

/* The row of MODEL.TYPE and MODEL.NAME; ends with usage() if there is none. */
const struct model *model_of_config(const struct config *cfg);

struct model_options model_options_of_config(const struct config *cfg);

#endif
