/*
 * A list of augmentations (AUG.LIST), applied in its order after the crop. Each item is
 * drawn by itself: it is applied with its probability p, and its values are uniform in
 * their ranges. The random numbers depend on the sample, the epoch, and the item's
 * position in the list.
 *
 * A label map follows the items that move pixels, with the nearest pixel, and
 * LABEL_IGNORE from outside the image.
 */
#ifndef IMAGE_AUGMENT_LIST_H
#define IMAGE_AUGMENT_LIST_H

#include "image/augment_ops.h"

enum { AUGMENT_LIST_ITEMS = 32 };

struct augment_list {
    int n; /* 0: nothing */
    struct augment_item item[AUGMENT_LIST_ITEMS];
};

/* Applies the list to an image. filter: of items that move pixels; filter_random: drawn
 * per item. */
void augment_list_apply(const struct augment_list *l, const struct augment_key *k,
                        struct policy_canvas *c, enum resize_filter filter,
                        bool filter_random);

/* The maps of one sample, in the order of the list. */
struct augment_maps {
    int n;
    double m[AUGMENT_LIST_ITEMS][9];
};
void augment_list_maps(const struct augment_list *l, const struct augment_key *k, int w,
                       int h, struct augment_maps *maps);

/* Replaces a pixel of the result by that of the w x h image before the list. Returns
 * false if it comes from outside. */
bool augment_maps_source(const struct augment_maps *maps, int w, int h, int *x, int *y);

#endif
