/*
 * Rules for the size of images, for check() of a family (models/table.h). Each returns NULL
 * if the size is valid, otherwise the keys to blame, with the reason in `why`.
 */
#ifndef MODELS_IMAGE_SIZE_H
#define MODELS_IMAGE_SIZE_H

#include "models/table.h"

/* Both sides have at least so many pixels. */
const char *const *size_at_least(const struct model *m, int least, int height, int width,
                                 struct strbuf *why);

/* The map after so many halvings, less MODEL.SKIP_STRIDES, has at least one pixel. */
const char *const *size_for_halvings(const struct model *m, const struct model_options *o,
                                     int halvings, int height, int width,
                                     struct strbuf *why);

/* Both sides are multiples of `side`. */
const char *const *size_multiple_of(const struct model *m, int side, int height,
                                    int width, struct strbuf *why);

/* The same where `side` is that of a patch. */
const char *const *size_in_patches(const struct model *m, int side, int height, int width,
                                   struct strbuf *why);

#endif
