/*
 * From the MODEL keys of a configuration to the model they describe, and to the value of
 * pixels outside an image.
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
 * Sets the keys that MODEL.NAME implies, unless something else has set them. Call right
 * after a configuration is loaded. An unknown name sets nothing. The name also decides
 * MODEL.TYPE if an earlier source has set another: --cfg resnet50.yaml --model
 * vit_tiny...
 */
void model_preset(struct config *cfg);

/*
 * Returns the public weights that MODEL.PRETRAINED names (models/pretrained.h), or NULL.
 * pretrained_preset sets the keys they imply unless something else has set them
 * (MODEL.NAME and the preparation of images); call it before model_preset().
 * pretrained_check checks that they belong to the model.
 */
const struct pretrained *pretrained_of_config(const struct config *cfg);
void pretrained_preset(struct config *cfg);
void pretrained_check(const struct config *cfg, struct problems *p);
/* Logs the keys that the weights have set (one line). */
void pretrained_describe(const struct config *cfg);
#define PRETRAINED_ORIGIN                                                                \
    "MODEL.PRETRAINED " /* prefix of config_origin() for those keys */

/*
 * Sets the keys that follow from MODEL.IN_CHANS, or a family's own key for it, if only a
 * default or MODEL.PRETRAINED has set them; call after model_preset(). Of the two channel
 * keys, one follows the other; DATA.MEAN and STD become the mean of RGB's three values;
 * color augmentations are off for images without colors.
 */
void input_preset(struct config *cfg);
#define INPUT_ORIGIN                                                                     \
    CONFIG_JOB_ORIGIN "the input of " /* the same prefix for the model's own input */
/* Checks that DATA.MEAN and STD have one number per channel. Part of model_check. */
void input_check(const struct config *cfg, struct problems *p);
/* Returns DATA.MEAN and STD of a channel. */
double input_mean(const struct config *cfg, int channel);
double input_std(const struct config *cfg, int channel);

/* Checks the MODEL keys, for the check() of a verb that builds the model. */
void model_check(const struct config *cfg, struct problems *p);

/*
 * Reads MODEL.OUT_INDICES: the stages that a net without a classifier outputs go to
 * out[], all stages of the model to `all` (may be NULL). Returns the number of outputs; 0
 * without MODEL.FEATURES_ONLY. Requires model_check.
 */
int model_stages_of_config(const struct config *cfg, int out[MODEL_STAGES],
                           struct model_stages *all);

/* For verbs that need the classifier: refuses MODEL.FEATURES_ONLY. */
void model_check_whole(const struct config *cfg, struct problems *p);

/* For verbs that show the answers of a net: refuses MODEL.TASK simmim. */
void model_check_answers(const struct config *cfg, struct problems *p);

/* Checks that the class indices of segmentation fit in a byte. Part of model_check and
 * data_check; a caller of both gets one message. */
void model_check_labels(const struct config *cfg, struct problems *p);

/* Returns the network of MODEL.LAYERS, or the row of MODEL.TYPE and MODEL.NAME; NULL with the
 * reason in `why`. */
const struct model *model_lookup(const struct config *cfg, struct strbuf *why);

/* Returns the row of MODEL.TYPE and MODEL.NAME, or the family's custom one; ends with
 * usage() if there is none. */
const struct model *model_of_config(const struct config *cfg);

/* Returns the backbone of the configured model; NULL if it has none or, with the reason in
 * `why`, if MODEL.BACKBONE cannot be one. */
const struct model *backbone_of_config(const struct config *cfg, struct strbuf *why);

/* Returns the task of a run: the family's, or for classifiers the one of MODEL.TASK. */
enum model_task model_task_of_config(const struct config *cfg, const struct model *m);

/* Returns the row of MODEL.TEACHER_MODEL, or the run's own model; NULL with the reason in
 * `why`. teacher_of_config requires checked keys. */
const struct model *teacher_find(const struct config *cfg, struct strbuf *why);
const struct model *teacher_of_config(const struct config *cfg);

/* Requires model_check. The family's options and their lists are allocated in `mem`;
 * strings in them belong to the configuration. */
struct model_options model_options_of_config(const struct config *cfg, struct arena *mem);

/*
 * The part of model_check that needs no model: checks keys with choices and warns of keys
 * that MODEL.TYPE, if known, does not read. Returns false if a choice is invalid.
 */
bool model_options_check(const struct config *cfg, struct problems *p);

/* Lists the choices of options. */
names_of_key model_key_names;

/* Returns DATA.MEAN of a channel as a gray level; fills pixels outside an image. */
uint8_t model_mean_byte(const struct config *cfg, int channel);

#endif
