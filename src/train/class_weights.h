/*
 * TRAIN.CLASS_WEIGHTS: the weight w of each class in the mean of the loss over pixels or
 * images, sum(w_y loss) / sum(w_y). It is a list, or computed from the training labels;
 * for label maps, auto is the formula of dataset/histogram.h, and balanced is
 * pixels / (classes that occur * pixels of the class).
 */
#ifndef TRAIN_CLASS_WEIGHTS_H
#define TRAIN_CLASS_WEIGHTS_H

#include "config/config.h"

struct dataset;
struct safetensors;

/*
 * Fills weight[MODEL.NUM_CLASSES], or returns false and leaves it untouched if all
 * weights are 1. In an evaluation `train` may be NULL; computed weights are then read
 * from the checkpoint, so that the loss equals that of the validation in training. If the
 * checkpoint has none, the training data is opened to compute them; if it is missing,
 * too, warns and returns false.
 */
bool class_weights(const struct config *cfg, const struct dataset *train, float *weight);

/*
 * The same for a classifier, from the number n_k of training images of each class:
 *
 *   balanced, auto   n / (classes with images * n_k), scikit-learn's class_weight
 *   effective        (1 - b) / (1 - b^n_k) with b = TRAIN.CLASS_WEIGHTS_BETA, divided by
 *                    the mean over classes with images (Cui et al. 2019, 1901.05555)
 *
 * A class without images gets weight 0.
 */
bool class_weights_of_images(const struct config *cfg, const struct dataset *train,
                             float *weight);
/* TRAIN.LOSS.LOGIT_ADJUST: bias[k] = tau log(n_k / n) (Menon et al. 2021, 2007.07314); a
 * class without images counts as one image. Returns false if it is off. */
bool class_bias_of_images(const struct config *cfg, const struct dataset *train,
                          float *bias);

/*
 * TRAIN.LOSS.POS_WEIGHT auto: sets the key to a list, the number of training images without
 * a label divided by those with it (PyTorch's advice for BCEWithLogitsLoss); unknown targets
 * count as neither, and a label that no image has gets 1. Does nothing with other values.
 */
void pos_weights_of_images(struct config *cfg, const struct dataset *train);

/* Warns if the resumed checkpoint was trained with class weights other than `weight`
 * (NULL: all 1). */
void class_weights_compare(const struct safetensors *file, const float *weight,
                           int64_t classes);

#endif
