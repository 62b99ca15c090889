/*
 * MODEL.PRETRAINED: weights to start from, out of a safetensors file or one of torch.save
 * (io/weights_file.h): a state dict with timm's names (also after a prefix: "module.",
 * "_orig_mod.", another trainer's "model." or, of ERFNet's encoder out of an ImageNet
 * classifier, "features."), or a checkpoint of ours or of PyTorch's trainers, of which
 * the EMA is taken if it has one.
 *
 * Every tensor of the model must be there with its shape, and none may be left over, but
 * for the classifier when the number of classes differs, for what no layer reads (the
 * classifier of ERFNet's encoder in the whole net), and for the patterns of
 * MODEL.PRETRAINED_SKIP: these keep their fresh start, and the log says how many.
 * Of nets whose family says so (models/table.h), parameters on a grid of another size are
 * resized and of a classifier of ImageNet-22k the rows of 1k are taken, with a line for
 * each, and Microsoft's names of Swin are read as well; but not to use the weights as
 * they are. The first layer's channels become MODEL.IN_CHANS in any case.
 *
 * Missing counters of batch norms are zero. Values that are not finite are loaded and
 * told, and so is a pattern that names nothing. All mismatches are listed before the
 * program ends.
 */
#ifndef TRAIN_PRETRAINED_H
#define TRAIN_PRETRAINED_H

#include "session/session.h"
#include "train/class_list.h"

/* `path` may be a name of public weights (train/weights_cache.h). */
void pretrained_load(struct session *s, const char *path);
/* To use the weights as they are: all of the model must be there, and the classes that
 * the file names must be these (class_list_check). */
void pretrained_load_all(struct session *s, const char *path, const char *what,
                         const struct class_list *classes);

#endif
