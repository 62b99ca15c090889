/*
 * How many pixels of the label maps each class has, and the class weights made of it.
 *
 *   struct histogram h;
 *   histogram_count(&h, dataset, &options);
 *   histogram_weights(&h, classes, 1.1, weight);
 *
 * Pixels are those that a run without random changes sees: each label map at the size
 * that fits the input, by the nearest pixel, and of it one in divisor x divisor.
 *
 * The counts are kept as "classes" of keep.h, the key a hash of the label files' names,
 * sizes and times, of the size and of the values' meaning; a run with other files or
 * another meaning counts anew.
 */
#ifndef DATASET_HISTOGRAM_H
#define DATASET_HISTOGRAM_H

#include "dataset/dataset.h"
#include "dataset/keep.h"
#include "dataset/loader.h"

struct histogram {
    int64_t count[256]; /* by class, and of LABEL_IGNORE */
    int64_t total;      /* the sum */
    bool cached;        /* it was read from the file */
};

struct histogram_options {
    int w, h, divisor; /* as in struct transform */
    struct image_limits limits;
    enum loader_on_error on_error; /* a damaged label map is left out, or the end */
    double max_bad_share;          /* as in struct loader_options */
    int few_bad;
    struct keep keep; /* .dir NULL: nothing is kept */
};

void histogram_count(struct histogram *h, const struct dataset *d,
                     const struct histogram_options *o);

/* Reads a kept file. False if it is not there (path may be NULL), of another key, or not
 * whole: nothing of it is believed then, as it may lie beside data that others ship. */
bool histogram_load(struct histogram *h, const char *path, uint64_t key);

/*
 * 1 / ln(c + p), p the class's share of all pixels, the ignored ones included (Paszke et
 * al., ENet, arXiv 1606.02147, and ERFNet); 0 for a class without a pixel. c > 1.
 */
void histogram_weights(const struct histogram *h, int classes, double c, float *weight);

#endif
