/*
 * How often each sample of a data set is drawn, for imbalanced classes: the weights of
 * torch's WeightedRandomSampler(weights, n), with replacement.
 *
 *   balanced   1 / n_c, n_c the size of the class: all classes are drawn equally often
 *   sqrt       1 / sqrt(n_c): between balanced and the data set's own frequencies
 *   weights    weights from the data set (dataset_weight)
 */
#ifndef DATASET_SAMPLE_WEIGHTS_H
#define DATASET_SAMPLE_WEIGHTS_H

#include "dataset/dataset.h"

enum sampling { SAMPLING_UNIFORM, SAMPLING_BALANCED, SAMPLING_SQRT, SAMPLING_WEIGHTS };

/* Returns cumulative weights [d->n] for struct sampler, a heap array, or NULL for uniform
 * sampling. Ends the program if a weight is negative or the sum is not finite and
 * positive. */
double *sample_weights(const struct dataset *d, enum sampling rule);

#endif
