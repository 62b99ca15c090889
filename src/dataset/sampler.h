/*
 * The order of an epoch as a pure function from positions to samples: a permutation of 0
 * .. n-1 keyed by (seed, epoch) and evaluated for one position at a time, so a run can
 * resume within an epoch at no cost, and each rank finds its own samples.
 *
 * The permutation is a Feistel network over the next power of four. Its rounds are Philox
 * with the stream PHILOX_SHUFFLE, repeated while the result is outside 0 .. n-1 (Black
 * and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002).
 *
 * With windows the order has two levels: the files of a container (shards) in random
 * order, and the samples of a few consecutive shards at a time in random order, so that
 * slow disks read few places at once. Positions remain independent; only a table of the
 * epoch's shards is required (sampler_windows_order).
 *
 * With parts, rank r of `world` has samples r, r + world, ... in every epoch, as in
 * Swin's cache of a part. Each rank permutes its own part.
 *
 * With weights, each position is a draw with replacement, as in torch's
 * WeightedRandomSampler.
 *
 * Repeated augmentation (Hoffer et al. 2019, arXiv 1901.09335), as in timm's
 * RepeatAugSampler: each sample of the permutation appears `repeats` times in a row. The
 * epoch keeps its length, rounded down to a multiple of 256 if it is that long, and so
 * contains n / repeats samples.
 */
#ifndef DATASET_SAMPLER_H
#define DATASET_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct sampler {
    uint64_t seed, epoch;
    int64_t n;
    bool shuffle;                          /* false: position i is sample i */
    int repeats;                           /* copies of each sample; 0: 1 */
    const struct sampler_windows *windows; /* for this seed and epoch; may be NULL */
    /* Cumulative weights [n] (sample_weights.h): each position is a draw with
     * replacement, a function of seed, epoch, and position. NULL: a permutation. */
    const double *weights;
    int rank, world; /* part; world 0: all samples. Excludes windows and repeats. */
};

struct sampler_windows {
    const int64_t *first; /* shard k has samples first[k] to first[k + 1] - 1 */
    int64_t nshard;
    int shards;     /* shards per window; the last may have fewer */
    int64_t *shard; /* in the epoch's order */
    int64_t *start; /* position of each window's first sample, then the end */
    int64_t nwindow;
};

/* Does not copy `first`, which has nshard + 1 elements. */
void sampler_windows_init(struct sampler_windows *w, const int64_t *first, int64_t nshard,
                          int shards);
void sampler_windows_order(struct sampler_windows *w, uint64_t seed, uint64_t epoch);
void sampler_windows_release(struct sampler_windows *w); /* accepts {0} */

/* Returns the number of positions in an epoch. */
int64_t sampler_len(const struct sampler *s);

/* sampler_index returns the sample at a position in 0 .. sampler_len() - 1. sampler_copy
 * returns which copy of the sample it is, below sampler_copies(), so that copies are
 * augmented differently. */
int64_t sampler_index(const struct sampler *s, int64_t position);
int64_t sampler_copy(const struct sampler *s, int64_t position);
int64_t sampler_copies(const struct sampler *s);

#endif
