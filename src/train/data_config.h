/*
 * From the DATA, AUG and TEST keys of a configuration to data sets and loaders.
 */
#ifndef TRAIN_DATA_CONFIG_H
#define TRAIN_DATA_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "dataset/histogram.h"
#include "dataset/loader.h"

enum data_split { DATA_TRAIN, DATA_VAL };

/* What is wrong with the DATA and AUG keys: for the check() of a verb that reads data. */
void data_check(const struct config *cfg, struct problems *p);
/* Parts of data_check, for the check() of other verbs: the names that only their tables
 * know, DATA.DATASET and DATA.CLASS_SET; keys that the storage does not read. */
void data_check_names(const struct config *cfg, struct problems *p);
void data_check_keys(const struct config *cfg, struct problems *p);
/* Is the split there? No sample is read; what the folder looks like is told, too. */
void data_check_split(const struct config *cfg, enum data_split split,
                      struct problems *p);

/*
 * The split below DATA_PATH by the storage DATA.DATASET, for data_check()ed keys. Ends
 * the program if it cannot be read (dataset/table.h). The caller closes it.
 */
struct dataset *data_open(const struct config *cfg, enum data_split split);

/*
 * The class count of the data becomes MODEL.NUM_CLASSES unless the configuration insists on
 * one. Why the splits do not fit one another or the configuration, a heap string, and the
 * key to blame or NULL; NULL: they fit. `train` may be NULL, or `val`.
 */
char *data_misfit(struct config *cfg, const struct dataset *train,
                  const struct dataset *val, const char **key);

/* DATA.NUM_WORKERS, auto resolved. */
int data_workers(const struct config *cfg);

/* Images of an epoch of training over so many samples: AUG.REPEATS may cut it. */
int64_t data_epoch_images(const struct config *cfg, int64_t samples);

/*
 * Training: augmented; shuffled and without a partial batch unless DATA.SHUFFLE or
 * DROP_LAST are off. Validation: resize and centre crop in the order of the files; the
 * whole image as large as it fits IMG_WIDTH x IMG_HEIGHT, with label maps
 * (segment_config.h), else the shorter side is IMG_SIZE / CROP_PCT, cut to an integer, or
 * with TEST.CROP False the whole image becomes the input. A policy in AUG.AUTO_AUGMENT
 * replaces AUG.COLOR_JITTER, as in timm and Swin. The caller may change the result, for
 * instance to set rank and world or an allocator.
 */
void data_loader_options(const struct config *cfg, enum data_split split,
                         struct loader_options *o);

/* How images are read: their largest size, their orientation, damage. */
struct image_limits data_limits(const struct config *cfg);

/* What data_loader_options() says of an image: resizing, crops, augmentation. */
struct transform data_transform(const struct config *cfg, enum data_split split);
/* True if training crops are cut from a padded image (AUG.PAD_CROP, AUG.CROP_MODE). */
bool data_pads(const struct config *cfg);

/*
 * The classes' pixels in the label maps of `train`, as the model sees them; kept in a
 * file in DATA_PATH. Damaged files are treated as DATA.ON_ERROR and MAX_BAD_SHARE say.
 */
void data_histogram(const struct config *cfg, const struct dataset *train,
                    struct histogram *h);

#endif
