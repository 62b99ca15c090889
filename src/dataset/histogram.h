/*
 * Counts the pixels of each class in the label maps of a data set, and computes class
 * weights.
 *
 *   struct histogram h;
 *   histogram_count(&h, dataset, &options);
 *   histogram_weights(&h, classes, 1.1, weight);
 *
 * Counts the pixels that a run without random augmentation sees: each label map is
 * resized to fit the input (nearest neighbor), then one pixel in divisor x divisor is
 * taken.
 *
 * The counts are cached as "classes" of keep.h. The key is a hash of the names, sizes,
 * and times of the label files, of the input size, and of the meaning of values; if any
 * of them changes, pixels are counted again.
 */
#ifndef DATASET_HISTOGRAM_H
#define DATASET_HISTOGRAM_H

#include "dataset/dataset.h"
#include "dataset/keep.h"
#include "dataset/loader.h"

struct histogram {
    int64_t count[256]; /* per class, and of LABEL_IGNORE */
    int64_t total;      /* sum of count[] */
    bool cached;        /* true if read from the cache */
};

struct histogram_options {
    int w, h, divisor; /* as in struct transform */
    struct image_limits limits;
    enum loader_on_error on_error; /* for damaged label maps: skip or fail */
    double max_bad_share;          /* as in struct loader_options */
    int few_bad;
    struct keep keep; /* .dir NULL: no cache */
};

void histogram_count(struct histogram *h, const struct dataset *d,
                     const struct histogram_options *o);

/* Reads cached counts. Returns false if the file is missing (path may be NULL), has
 * another key, or is incomplete. The file is validated because others may distribute it
 * with their data. */
bool histogram_load(struct histogram *h, const char *path, uint64_t key);

/*
 * Sets weight[k] to 1 / ln(c + p), where p is the class's share of all pixels, ignored
 * ones included (Paszke et al., ENet, arXiv 1606.02147; also ERFNet), or to 0 if the
 * class has no pixels. Requires c > 1.
 */
void histogram_weights(const struct histogram *h, int classes, double c, float *weight);

#endif
