/*
 * From the MODEL keys of a configuration to the model that they describe, and to what it
 * sees where there is no picture.
 */
#ifndef SESSION_MODEL_CONFIG_H
#define SESSION_MODEL_CONFIG_H

#include "config/config.h"
#include "config/names.h"
#include "config/problems.h"
#include "models/table.h"

/*
 * The keys that MODEL.NAME sets, where nothing else has set them: right after a
 * configuration is loaded. A name that there is not sets none.
 */
void model_preset(struct config *cfg);

/* What is wrong with the MODEL keys: for the check() of a verb that builds the model. */
void model_check(const struct config *cfg, struct problems *p);

/* Labels are bytes: are there too many classes? Part of model_check and data_check, whose
 * callers hear of it once. */
void model_check_labels(const struct config *cfg, struct problems *p);

/* The row of MODEL.TYPE and MODEL.NAME, or the family's custom one; ends with usage() if
 * there is none. */
const struct model *model_of_config(const struct config *cfg);

/* What model_check has found good. The family's options and their lists are in `mem`,
 * texts in them are the configuration's. */
struct model_options model_options_of_config(const struct config *cfg, struct arena *mem);

/*
 * The part of model_check that needs no model: keys with choices have one, and warnings
 * of those that MODEL.TYPE, if that is known, does not read. False: a choice is none.
 */
bool model_options_check(const struct config *cfg, struct problems *p);

/* The choices of options. */
names_of_key model_key_names;

/* A channel of DATA.MEAN as a grey level: what fills places without a picture. */
uint8_t model_mean_byte(const struct config *cfg, int channel);

#endif
