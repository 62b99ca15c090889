/*
 * The classes of the samples of containers, from what each sample has: a number, a text,
 * or the folder that its name lies in. The rule is the same for all containers.
 *
 * DATA_PATH/classes.txt names the classes, a line each, in the order of the labels; texts
 * and folders are then looked up there. Without it, texts are the classes in byte order
 * if most labels are texts, and numbers are classes below MODEL.NUM_CLASSES. If no sample
 * has a label, the class is the first folder of its name, below the split's own folder
 * ("train/") if all lie there, as in an unpacked archive; samples in no folder are left
 * out.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_SAMPLE_CLASSES_H
#define DATASET_SAMPLE_CLASSES_H

#include "dataset/samples.h"

/* `dir` has classes.txt. Ends the program if a sample has no class, or one that is not
 * there. */
void sample_classes(struct samples *s, const struct dataset_source *o, const char *dir);

#endif
