/*
 * AUG.ON_DEVICE: which of a training image's augmentations are steps of the program
 * (ops/augment.h) and not the loader's. Those that come last there move: random erasing
 * always, colour jitter, and the flip where no policy comes after it. Draws are the same
 * in both places, so the pixels are. A label map is mirrored with its image; policies and
 * erasing are not for them.
 */
#ifndef SESSION_AUGMENT_CONFIG_H
#define SESSION_AUGMENT_CONFIG_H

#include "config/config.h"
#include "ops/augment.h"

struct device_augment {
    bool flips, jitters, erases; /* on the device */
    struct flip_attrs flip;
    struct color_jitter_attrs jitter;
    struct erase_attrs erase;
};

/* For keys that data_check() has passed; all false without AUG.ON_DEVICE. */
struct device_augment device_augment_of_config(const struct config *cfg);

/* DATA.RESIZE device: training images are resized by the program (ops/resize.h), and
 * augmented by it, as that comes after. */
bool device_resizes(const struct config *cfg);

static inline bool device_augment_any(const struct device_augment *a)
{
    return a->flips || a->jitters || a->erases;
}

#endif
