/*
 * Finds folders of images and of label maps by their usual names (usual_names.h): images/
 * and masks/, train/img/ and train/gt/, annotations/val/, ...; or a folder that has both,
 * side by side: a.jpg and a_mask.png. Used by DATA.DATASET pairs and trainc init.
 */
#ifndef DATASET_FOLDER_PAIRS_H
#define DATASET_FOLDER_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

struct folder_pairs {
    char *images, *labels; /* relative to the root ("": the root itself); equal if label
                            * maps are next to the images; heap strings */
    int others;            /* number of other pairs of folders with matching names */
    int64_t nimages, nlabels, matched;
};

/* Finds the pair of folders of a split ("": no split) with the most matching names.
 * Returns false if there is none; then there is nothing to release. */
bool folder_pairs_find(struct folder_pairs *f, const char *root, const char *split);

/* Same as folder_pairs_find, but faster: only tests for such folders with images in
 * both. */
bool folder_pairs_probe(const char *root, const char *split);

/* Returns the number of images in `images` with a label map in `labels`. */
int64_t folder_pairs_count(const char *root, const char *images, const char *labels);

void folder_pairs_release(struct folder_pairs *f);

#endif
