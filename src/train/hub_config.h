/*
 * The config.json that timm puts beside weights in a repository of the hub: what net they
 * are of, and how its images are prepared. For hf-hub:OWNER/NAME and local-dir:FOLDER;
 * names of the table of public weights (models/pretrained.h) need none.
 *
 *   {"architecture": "resnet50", "num_classes": 37,
 *    "pretrained_cfg": {"input_size": [3, 224, 224], "mean": [...], "std": [...],
 *                       "interpolation": "bicubic", "crop_pct": 0.95, "crop_mode": "center"}}
 */
#ifndef TRAIN_HUB_CONFIG_H
#define TRAIN_HUB_CONFIG_H

#include "config/config.h"
#include "io/json.h"

struct problems;

/*
 * Sets MODEL.NAME, MODEL.IN_CHANS and the keys of images that nothing else has set:
 * before model_preset(). Nothing where there is no such file, which with `fetch` is
 * downloaded if the weights are going to be. What is wrong with it, or cannot be done as
 * it says, is a problem.
 */
void hub_config_preset(struct config *cfg, bool fetch, struct problems *p);

/* Its "label_names", an array of strings that the caller releases; NULL: it has none, or
 * other than MODEL.NUM_CLASSES. */
json_t *hub_config_labels(const struct config *cfg);

/* Its number of classes; 0: it does not say. */
int hub_config_classes(const struct config *cfg);

#endif
