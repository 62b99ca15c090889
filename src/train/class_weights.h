/*
 * TRAIN.CLASS_WEIGHTS: what the pixels or images of each class weigh in the loss, the mean
 * of which is sum(w_y loss) / sum(w_y): a list, or from the training labels; for label
 * maps by the formula of dataset/histogram.h (auto), or as pixels / (classes * pixels of
 * the class) (balanced).
 */
#ifndef TRAIN_CLASS_WEIGHTS_H
#define TRAIN_CLASS_WEIGHTS_H

#include "config/config.h"

struct dataset;
struct safetensors;

/*
 * Fills weight[MODEL.NUM_CLASSES]; false: all weigh 1, and `weight` is untouched. `train`
 * may be NULL for an evaluation, whose loss is that of the validation in training: then
 * `auto` are those in the checkpoint, and without them it opens the training data itself;
 * if these are not there either, it warns, and all weigh 1.
 */
bool class_weights(const struct config *cfg, const struct dataset *train, float *weight);

/*
 * The same of a classifier's training images, by the number of images n_k of each class:
 *
 *   balanced, auto   n / (classes with images * n_k), scikit-learn's class_weight
 *   effective        (1 - b) / (1 - b^n_k), b = TRAIN.CLASS_WEIGHTS_BETA, divided by their
 *                    mean (Cui et al. 2019, 1901.05555)
 *
 * 0 for a class without an image.
 */
bool class_weights_of_images(const struct config *cfg, const struct dataset *train,
                             float *weight);
/* TRAIN.LOSS.LOGIT_ADJUST: bias[k] = tau log(n_k / n) (Menon et al. 2021, 2007.07314), a
 * class without an image counting as one image. False: off. */
bool class_bias_of_images(const struct config *cfg, const struct dataset *train,
                          float *bias);

/* Warns if a run goes on from a file that was trained with others; NULL: all weigh 1. */
void class_weights_compare(const struct safetensors *file, const float *weight,
                           int64_t classes);

#endif
