/*
 * From the MODEL keys of a configuration to the model that they describe, and to what it
 * sees where there is no image.
 */
#ifndef SESSION_MODEL_CONFIG_H
#define SESSION_MODEL_CONFIG_H

#include "config/config.h"
#include "config/names.h"
#include "config/problems.h"
#include "models/pretrained.h"
#include "models/stages.h"
#include "models/table.h"

/*
 * The keys that MODEL.NAME sets, where nothing else has set them: right after a
 * configuration is loaded. A name that there is not sets none. MODEL.TYPE is the name's,
 * too, where an earlier source has set another: --cfg resnet50.yaml --model vit_tiny...
 */
void model_preset(struct config *cfg);

/*
 * The public weights that MODEL.PRETRAINED names (models/pretrained.h), or NULL. The keys
 * that they set, where nothing else has: MODEL.NAME, and how images are prepared; before
 * model_preset(). And that they are of the model.
 */
const struct pretrained *pretrained_of_config(const struct config *cfg);
void pretrained_preset(struct config *cfg);
void pretrained_check(const struct config *cfg, struct problems *p);
/* A line of the log: what of the configuration the weights have set. */
void pretrained_tell(const struct config *cfg);
#define PRETRAINED_WHERE "MODEL.PRETRAINED " /* begins what config_where says of it */

/*
 * What MODEL.IN_CHANS, or a family's own key of it, says of other keys that nothing but a
 * default or MODEL.PRETRAINED has set: after model_preset(). One of the two keys follows
 * the other; DATA.MEAN and STD become the mean of RGB's three; augmentations of colours
 * are off where there are none.
 */
void input_preset(struct config *cfg);
#define INPUT_WHERE                                                                      \
    CONFIG_JOB_WHERE "the input of " /* begins it for the model's own input */
/* Have DATA.MEAN and STD as many numbers? Part of model_check. */
void input_check(const struct config *cfg, struct problems *p);
/* DATA.MEAN and STD of a channel. */
double input_mean(const struct config *cfg, int channel);
double input_std(const struct config *cfg, int channel);

/* What is wrong with the MODEL keys: for the check() of a verb that builds the model. */
void model_check(const struct config *cfg, struct problems *p);

/*
 * MODEL.OUT_INDICES into out[]: the stages that a net without a classifier gives, how
 * many of them, and into `all` which there are; 0 without MODEL.FEATURES_ONLY. What
 * model_check has found good. `all` may be NULL.
 */
int model_stages_of_config(const struct config *cfg, int out[MODEL_STAGES],
                           struct model_stages *all);

/* For verbs that need the classifier: MODEL.FEATURES_ONLY is a mistake. */
void model_check_whole(const struct config *cfg, struct problems *p);

/* Labels are bytes: are there too many classes? Part of model_check and data_check, whose
 * callers hear of it once. */
void model_check_labels(const struct config *cfg, struct problems *p);

/* The row of MODEL.TYPE and MODEL.NAME, or the family's custom one; ends with usage() if
 * there is none. */
const struct model *model_of_config(const struct config *cfg);

/* The row of MODEL.TEACHER_MODEL, or the run's own; NULL with the reason in `why`. Of
 * what was found good. */
const struct model *teacher_find(const struct config *cfg, struct strbuf *why);
const struct model *teacher_of_config(const struct config *cfg);

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

/* A channel of DATA.MEAN as a grey level: what fills places without an image. */
uint8_t model_mean_byte(const struct config *cfg, int channel);

#endif
