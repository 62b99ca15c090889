/*
 * File lists with a class per image, for DATA.DATASET list: SPLIT.txt with "image class"
 * on each line, or ImageNet-22K's map as Swin reads it,
 * ILSVRC2011fall_whole_map_SPLIT.txt or SPLIT.json, an array of [image, class, ...].
 * SPLIT may also be the name of the list file.
 *
 * Names are absolute paths, or relative to the root or, if the first images are not
 * there, to root/SPLIT. The class follows the first tab of a line or, without a tab, the
 * last space. Classes are all numbers, with names as in samples.h, or all names: those in
 * classes.txt or, without it, all that occur, in byte order. Files are opened only when
 * they are read, so missing ones are found then.
 *
 * Private to src/dataset.
 */
#ifndef DATASET_LIST_CLASSES_H
#define DATASET_LIST_CLASSES_H

#include "dataset/table.h"

/* Members of struct storage. Lists of label maps are rejected. */
bool list_classes_probe(const struct dataset_source *s);
bool list_classes_check(const struct dataset_source *s, struct strbuf *why);
struct dataset *list_classes_open(const struct dataset_source *s);

#endif
