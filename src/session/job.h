/*
 * Defaults that follow from the job: the values of keys that neither a configuration file
 * nor the command line sets, unless DEFAULTS is swin. job.c has a row per key, with the
 * reason that `trainc config` prints; docs/fine-tuning.md gives the source of each
 * number.
 *
 *   struct job job = {.images = d->n, ...};     train/job_data.h looks at the data set
 *   job_preset_model(cfg, &job);                before the presets of the model's name
 *   model_preset(cfg);
 *   job_preset_input(cfg);                      the model's own input
 *   input_preset(cfg);
 *   job_preset(cfg, &job);                      all others
 *
 * Keys that are already set stay unchanged, and dependent defaults adapt to them:
 * --epochs 5 makes the warm-up, the EMA, and the augmentation those of a short run.
 */
#ifndef SESSION_JOB_H
#define SESSION_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "config/config.h"

struct job {
    int64_t images; /* training images; 0: unknown, and defaults that depend on it are not
                     * set */
    int side;       /* median of the shorter sides in pixels; 0: unknown */
    bool uniform;   /* all images are squares of the same size */
    bool glyphs;    /* classes are single letters or numbers, so mirroring changes the
                     * class */
    int world;      /* number of devices that train together */
};

/* True if defaults follow from the job: DEFAULTS is job, or auto without a file, or with
 * one that has MODEL.LAYERS. */
bool job_decides(const struct config *cfg);

/* Sets MODEL.NAME if the images are known and neither it nor MODEL.TYPE nor
 * MODEL.PRETRAINED is set. */
void job_preset_model(struct config *cfg, const struct job *job);
/* Sets IMG_SIZE, MEAN, STD, CROP_PCT, and INTERPOLATION of MODEL.NAME, as timm's
 * default_cfg. */
void job_preset_input(struct config *cfg);
void job_preset(struct config *cfg, const struct job *job);

/* Returns the batch size for `images` images: the largest power of two up to `max` that
 * fits at least 16 times into an epoch, but at least 16 (for batch norm) if there are 64
 * images or more; all images if there are fewer than two. */
int64_t job_batch(int64_t images, int64_t max);

enum {
    JOB_TINY = 64,         /* up to this side in pixels: CIFAR nets and padded crops */
    JOB_FEW_IMAGES = 20000 /* below: ResNet-18 instead of 50 */
};

/* Returns a net for images with this shorter side, such as "resnet20", and the reason. */
const char *job_net(const struct job *job, const char **why);

/* Returns the keys that job_preset() may set, in the order of the schema, ended by NULL. */
const char *const *job_keys(void);

#endif
