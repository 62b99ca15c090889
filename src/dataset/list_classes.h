/*
 * Lists of files with a class each, for DATA.DATASET list: below the root SPLIT.txt with
 * "image class" on each line, or ImageNet-22K's map as Swin reads it,
 * ILSVRC2011fall_whole_map_SPLIT.txt or SPLIT.json, an array of [image, class, ...]. The
 * split may also be the name of the file itself.
 *
 * Names are paths below the root or, if the first images are not there, below root/SPLIT;
 * or they start with a slash. Of a line what follows the first tab is the class or, if
 * there is none, what follows the last blank. Classes are numbers, named as samples.h
 * says, or all of them names: those of classes.txt or, without it, all that there are, in
 * byte order. Files that are not there are found when they are read.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_LIST_CLASSES_H
#define DATASET_LIST_CLASSES_H

#include "dataset/table.h"

/* The members of struct storage. A list of label maps is none of these. */
bool list_classes_probe(const struct dataset_source *s);
bool list_classes_check(const struct dataset_source *s, struct strbuf *why);
struct dataset *list_classes_open(const struct dataset_source *s);

#endif
