/*
 * The config.json that timm stores next to the weights in a hub repository: it names the
 * model and describes the preprocessing of its images. It is read for hf-hub:OWNER/NAME
 * and local-dir:FOLDER; weights in models/pretrained.h do not need it.
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
 * Sets MODEL.NAME, MODEL.IN_CHANS, and the preprocessing keys unless they are already
 * set; call before model_preset(). With `fetch`, downloads the file if the weights are
 * not cached yet. Does nothing without a file. Reports invalid or unsupported contents to
 * `p`.
 */
void hub_config_preset(struct config *cfg, bool fetch, struct problems *p);

/* Returns "label_names", an array of strings that the caller releases, or NULL unless
 * there are MODEL.NUM_CLASSES of them. */
json_t *hub_config_labels(const struct config *cfg);

/* Returns the number of classes, or 0 if the file does not give it. */
int hub_config_classes(const struct config *cfg);

#endif
