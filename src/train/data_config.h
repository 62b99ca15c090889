/*
 * Data sets and loaders from the DATA, AUG, and TEST keys of a configuration.
 */
#ifndef TRAIN_DATA_CONFIG_H
#define TRAIN_DATA_CONFIG_H

#include "config/config.h"
#include "config/problems.h"
#include "dataset/histogram.h"
#include "dataset/loader.h"

enum data_split { DATA_TRAIN, DATA_VAL };

/* Reports problems of the DATA and AUG keys, for the check() of a verb that reads
 * data. */
void data_check(const struct config *cfg, struct problems *p);
/* Parts of data_check for the check() of other verbs: unknown names in DATA.DATASET and
 * DATA.CLASS_SET, and keys that the storage does not read. */
void data_check_names(const struct config *cfg, struct problems *p);
void data_check_keys(const struct config *cfg, struct problems *p);
/* Reports a missing split without reading samples, and suggests the storage that the
 * folder looks like. */
void data_check_split(const struct config *cfg, enum data_split split,
                      struct problems *p);

/*
 * Opens the split below DATA_PATH with the storage DATA.DATASET; the caller closes it.
 * Requires keys that data_check() has accepted. Dies if the split cannot be read
 * (dataset/table.h).
 */
struct dataset *data_open(const struct config *cfg, enum data_split split);

/*
 * Sets MODEL.NUM_CLASSES to the number of classes in the data unless it is configured.
 * Returns NULL if the splits match each other and the configuration, else the reason (the
 * caller frees it), with *key the key at fault or NULL. `train` and `val` may be NULL.
 */
char *data_misfit(struct config *cfg, const struct dataset *train,
                  const struct dataset *val, const char **key);

/* Returns DATA.NUM_WORKERS, with auto resolved. */
int data_workers(const struct config *cfg);

/* Returns the number of images in a training epoch over `samples` samples, which
 * AUG.REPEATS may reduce. */
int64_t data_epoch_images(const struct config *cfg, int64_t samples);

/*
 * Training images are augmented, shuffled (DATA.SHUFFLE), and come in full batches only
 * (DATA.DROP_LAST). Validation images come in file order, resized and center cropped: the
 * shorter side becomes IMG_SIZE / CROP_PCT, truncated to an integer; with TEST.CROP False
 * the whole image is stretched to the input. Images with label maps (segment_config.h)
 * are scaled to fit into IMG_WIDTH x IMG_HEIGHT instead. A policy in AUG.AUTO_AUGMENT
 * replaces AUG.COLOR_JITTER, as in timm and Swin. The caller may change the result, for
 * example to set rank and world or an allocator.
 */
void data_loader_options(const struct config *cfg, enum data_split split,
                         struct loader_options *o);

/* Returns how images are read: size limits, EXIF orientation, truncated files. */
struct image_limits data_limits(const struct config *cfg);

/* Returns the resizing, crops, and augmentation that data_loader_options() sets. */
struct transform data_transform(const struct config *cfg, enum data_split split);
/* True if training crops are cut from a padded image (AUG.PAD_CROP, AUG.CROP_MODE). */
bool data_pads(const struct config *cfg);
/* True if encoded image files are kept in memory. */
bool data_holds(const struct config *cfg);
/* DATA.CACHE_MODE part: true if each of several processes caches its own part of the
 * images in memory and trains on the same part in every epoch. */
bool data_parts(const struct config *cfg);

/*
 * Counts the pixels of each class in the label maps of `train`, at the size that the
 * model sees; the counts are cached in a file. DATA.ON_ERROR and DATA.MAX_BAD_SHARE apply
 * to damaged files.
 */
void data_histogram(const struct config *cfg, const struct dataset *train,
                    struct histogram *h);

#endif
