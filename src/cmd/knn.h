/*
 * Weighted k-nearest-neighbor classification of feature vectors (Wu et al. 2018, "Unsupervised
 * feature learning via non-parametric instance discrimination", section 3.4, as DINO
 * evaluates): each of the k training vectors with the largest cosine similarity s votes for
 * its class with weight exp(s / 0.07).
 */
#ifndef CMD_KNN_H
#define CMD_KNN_H

#include "cmd/images.h"

struct knn {
    int k;
    int classes, ntrain, nval;
    double top1, top5; /* percent; NaN without validation images */
};

/* Classifies images by their vectors [images.n, len]; those that are NaN are left out. Images
 * below a folder train/CLASS/ vote, images below val/CLASS/ are classified (usual names of
 * splits). Returns false and a reason if one of them has no images. */
bool knn_classify(struct knn *r, const struct images *images, const float *vector,
                  int64_t len, struct strbuf *why);

#endif
