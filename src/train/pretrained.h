/*
 * MODEL.PRETRAINED: weights to start from, out of a safetensors file: a state dict with
 * timm's names (also behind "module." or "_orig_mod."), or a checkpoint of ours, of which
 * the average is taken if it has one.
 *
 * Every tensor of the model must be there with its shape, but for the classifier when the
 * number of classes differs: it keeps its fresh start, and the log says so. Missing
 * counters of batch norms are zero. All mismatches are listed before the program ends.
 */
#ifndef TRAIN_PRETRAINED_H
#define TRAIN_PRETRAINED_H

#include "train/step.h"

void pretrained_load(struct session *s, const char *path);

#endif
