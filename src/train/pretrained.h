/*
 * MODEL.PRETRAINED: initial weights from a file of safetensors or torch.save
 * (io/weights_file.h). The file is a state dict with timm's names, possibly after a
 * prefix ("module.", "_orig_mod.", another trainer's "model.", or "features." for
 * ERFNet's encoder in an ImageNet classifier), or a checkpoint of trainc or of a PyTorch
 * trainer: its EMA weights if it has them, unless the raw ones scored higher
 * (train/raw_or_ema.h).
 *
 * The file must have every tensor of the model, in the same shape, and no others.
 * Exceptions are the classifier if the number of classes differs, tensors that no layer
 * reads (the classifier of ERFNet's encoder in the whole net), and MODEL.PRETRAINED_SKIP:
 * such tensors are reinitialized, and the log gives their number. For some families
 * (models/table.h), parameters on a grid of another size are resized, the rows of 1k are
 * selected from a classifier of ImageNet-22k (only by pretrained_load()), and other
 * projects' names are converted. The first layer's channels are adapted to
 * MODEL.IN_CHANS. The log has a line for each such change.
 *
 * Missing counters of batch norm become zero. Values that are not finite are loaded with
 * a warning; a pattern that matches nothing is a warning, too. On a mismatch, the debug
 * log lists all of them before the program dies.
 */
#ifndef TRAIN_PRETRAINED_H
#define TRAIN_PRETRAINED_H

#include "session/session.h"
#include "train/class_list.h"

/* `path` may be a name of public weights (train/weights_cache.h). */
void pretrained_load(struct session *s, const char *path);
/* Loads MODEL.PRETRAINED or MODEL.PRETRAINED_BACKBONE, if one is set. */
void pretrained_load_start(struct session *s);
/* MODEL.PRETRAINED_BACKBONE: the same for the backbone alone, from the weights of a
 * classifier. */
void pretrained_load_backbone(struct session *s, const char *path);
/* Loads weights for use without training: every tensor of the model must be in the file,
 * and its class names must match (class_list_check). */
void pretrained_load_all(struct session *s, const char *path, const char *what,
                         const struct class_list *classes);

#endif
