/*
 * AUG.ON_DEVICE: selects the augmentations of training images that run on the device as
 * ops (ops/augment.h) instead of in the loader. Only the last ones move there: random
 * erasing always, then color jitter, then the flip if no policy follows it. Both places
 * draw the same random numbers and give the same pixels. A label map is mirrored with its
 * image; segmentation has no policies and no erasing. AUG.LIST runs in the loader and
 * replaces all of them. AUG.MOSAIC puts augmented images together, in the loader, too.
 */
#ifndef SESSION_AUGMENT_CONFIG_H
#define SESSION_AUGMENT_CONFIG_H

#include "config/config.h"
#include "ops/augment.h"

struct device_augment {
    bool flips, jitters, erases; /* True if it runs on the device. */
    struct flip_attrs flip;
    struct color_jitter_attrs jitter;
    struct erase_attrs erase;
};

/* Requires keys that data_check() has accepted. Everything is false without
 * AUG.ON_DEVICE. */
struct device_augment device_augment_of_config(const struct config *cfg);

/* True if DATA.RESIZE is device: the program resizes training images (ops/resize.h), and
 * therefore augments them, too. */
bool device_resizes(const struct config *cfg);

static inline bool device_augment_any(const struct device_augment *a)
{
    return a->flips || a->jitters || a->erases;
}

#endif
