/*
 * Test-time augmentation (TEST.TTA) of classifiers: the views of each image whose
 * probabilities eval and predict average.
 */
#ifndef TRAIN_VIEWS_H
#define TRAIN_VIEWS_H

#include "config/config.h"
#include "config/problems.h"
#include "image/transform.h"

struct view {
    bool hflip, vflip;
    enum transform_corner corner;
};

enum { VIEWS_MAX = 4 * CORNERS };

/* Reports names that are not views, and views that the other keys make impossible. */
void views_check(const struct config *cfg, struct problems *p);

/* Writes the product of the flips and crops of TEST.TTA, the plain image first. Returns
 * their number: 1 if the list is empty. */
int views_of_config(const struct config *cfg, struct view view[VIEWS_MAX]);

/* Turns the transform of validation into the one of a view. */
void view_apply(const struct view *v, struct transform *t);

#endif
