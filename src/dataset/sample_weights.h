/*
 * How often each sample of a data set is drawn, for imbalanced classes: what torch's
 * WeightedRandomSampler(weights, n) takes, with replacement.
 *
 *   balanced   1 / n_c, with n_c the samples of its class: classes are drawn equally often
 *   sqrt       1 / sqrt(n_c): between that and the data set's own shares
 *   weights    the weights that the data set brings (dataset_weight)
 */
#ifndef DATASET_SAMPLE_WEIGHTS_H
#define DATASET_SAMPLE_WEIGHTS_H

#include "dataset/dataset.h"

enum sampling { SAMPLING_UNIFORM, SAMPLING_BALANCED, SAMPLING_SQRT, SAMPLING_WEIGHTS };

/* Cumulative weights [d->n], for struct sampler; a heap array. NULL for uniform. Ends the
 * program if the weights do not have a finite positive sum, or one is negative. */
double *sample_weights(const struct dataset *d, enum sampling rule);

#endif
