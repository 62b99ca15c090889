/*
 * Assigns classes to the samples of containers from what each sample has: a number, a
 * text, or the folder of its name. All containers use the same rule.
 *
 * DATA_PATH/classes.txt has the class names, one per line, in label order; texts and
 * folders are looked up there. Without it, the classes are the texts in byte order if
 * most labels are texts, or numbers below MODEL.NUM_CLASSES. If no sample has a label,
 * the class is the first folder of its name, after the split's own folder ("train/") if
 * all samples are in it, as in an unpacked archive; samples outside folders are skipped.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_SAMPLE_CLASSES_H
#define DATASET_SAMPLE_CLASSES_H

#include "dataset/samples.h"

/* `dir` may have classes.txt. Ends the program if a sample has no class or an invalid
 * one. */
void sample_classes(struct samples *s, const struct dataset_source *o, const char *dir);

#endif
