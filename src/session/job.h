/*
 * Defaults that follow from the job: what a run uses where neither a configuration file
 * nor the command line sets a key, and DEFAULTS is not swin. A row per key in job.c, with
 * the reason that `trainc config` prints; docs/fine-tuning.md says where each number is
 * from.
 *
 *   struct job job = {.images = d->n, ...};     train/job_data.h looks at the data set
 *   job_preset_model(cfg, &job);                before the presets of the model's name
 *   model_preset(cfg);
 *   job_preset_input(cfg);                      the model's own input
 *   input_preset(cfg);
 *   job_preset(cfg, &job);                      all others
 *
 * Keys that something has set stay as they are, and what follows from them follows:
 * --epochs 5 makes the warm-up, the EMA, and the augmentation those of a short run.
 */
#ifndef SESSION_JOB_H
#define SESSION_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "config/config.h"

struct job {
    int64_t images; /* of training; 0: not known, and what follows from it is left out */
    int side;       /* median of the shorter sides, pixels; 0: not known */
    bool uniform;   /* all images have the same size, and are squares */
    bool glyphs;    /* classes are single letters or numbers: mirrored ones are others */
    int world;      /* devices that train together */
};

/* True if defaults follow from the job: DEFAULTS job, or auto without a file. */
bool job_decides(const struct config *cfg);

/* MODEL.NAME, if the images are known and neither it nor MODEL.TYPE nor
 * MODEL.PRETRAINED is set. */
void job_preset_model(struct config *cfg, const struct job *job);
/* IMG_SIZE, MEAN, STD, CROP_PCT and INTERPOLATION of MODEL.NAME, as timm's default_cfg. */
void job_preset_input(struct config *cfg);
void job_preset(struct config *cfg, const struct job *job);

/* The batch of a run on so many images: the largest power of two up to `most` that an
 * epoch has at least 16 times, but not under 16 images from 64 on: batch norm wants them;
 * all images, where they are fewer than two. */
int64_t job_batch(int64_t images, int64_t most);

/* The net for images of this shorter side: "resnet20"; and the reason. */
const char *job_net(const struct job *job, const char **why);

/* The keys that job_preset() may set, NULL at the end, in the order of the schema. */
const char *const *job_keys(void);

#endif
