/*
 * Folders of images and of label maps that lie side by side, found by their names
 * (usual_names.h): images/ and masks/, train/img/ and train/gt/, annotations/val/, ...
 * DATA.DATASET pairs reads them; trainc init also asks what there is.
 */
#ifndef DATASET_FOLDER_PAIRS_H
#define DATASET_FOLDER_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

struct folder_pairs {
    char *images, *labels; /* folders below the root; heap strings */
    int others;            /* further pairs of folders with names in common */
    int64_t nimages, nlabels, matched;
};

/* The pair of folders of a split ("": of none) with the most names in common. False: there
 * is none, and nothing is to be released. */
bool folder_pairs_find(struct folder_pairs *f, const char *root, const char *split);

/* The same as a quick look: folders with such names, and images in both. */
bool folder_pairs_are(const char *root, const char *split);

/* How many images of the folder `images` have a label map of their name in `labels`. */
int64_t folder_pairs_count(const char *root, const char *images, const char *labels);

void folder_pairs_release(struct folder_pairs *f);

#endif
