/*
 * The order of an epoch as a pure function: position -> sample. A permutation of 0 .. n-1
 * keyed by (seed, epoch), computed for one position at a time, so a run resumes in the
 * middle of an epoch at no cost, and any rank finds its own samples.
 *
 * It is a Feistel network over the next power of four, whose rounds are Philox with the
 * stream PHILOX_SHUFFLE, walked again while it lands outside 0 .. n-1 (Black and Rogaway,
 * "Ciphers with arbitrary finite domains", CT-RSA 2002).
 *
 * With windows the order has two levels: the files of a container (shards) in random
 * order, and the samples of so many of them at a time in random order, so that a disk
 * which is slow at jumping reads few places at once. Positions stay independent of each
 * other; what an epoch needs is a table of its shards (sampler_windows_order).
 *
 * With parts, rank r of `world` has the samples r, r + world, ... and no others in every
 * epoch, as Swin's cache of a part has them; each rank permutes its own.
 *
 * With weights, each position is a draw with replacement instead, as torch's
 * WeightedRandomSampler makes it.
 *
 * Repeated augmentation (Hoffer et al. 2019, arXiv 1901.09335), as timm's
 * RepeatAugSampler: the permutation's samples come `repeats` times in a row each, and an
 * epoch is as long as before, but a multiple of 256 if there are that many; so it sees n
 * / repeats samples.
 */
#ifndef DATASET_SAMPLER_H
#define DATASET_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct sampler {
    uint64_t seed, epoch;
    int64_t n;
    bool shuffle;                          /* false: position i is sample i */
    int repeats;                           /* copies of each sample; 0: one */
    const struct sampler_windows *windows; /* of this seed and epoch; NULL: none */
    /* Cumulative weights [n]: positions are draws with replacement, each a function of seed,
     * epoch, and position (sample_weights.h). NULL: a permutation. */
    const double *weights;
    int rank, world; /* of the part; world 0: all samples. Without windows and repeats */
};

struct sampler_windows {
    const int64_t *first; /* shard k has the samples first[k] .. first[k + 1] - 1 */
    int64_t nshard;
    int shards;     /* of a window, the last one may have fewer */
    int64_t *shard; /* in the order of the epoch */
    int64_t *start; /* position of each window's first sample, and the end */
    int64_t nwindow;
};

/* `first` stays the caller's, nshard + 1 numbers. */
void sampler_windows_init(struct sampler_windows *w, const int64_t *first, int64_t nshard,
                          int shards);
void sampler_windows_order(struct sampler_windows *w, uint64_t seed, uint64_t epoch);
void sampler_windows_release(struct sampler_windows *w); /* {0} is fine */

/* Positions of an epoch. */
int64_t sampler_len(const struct sampler *s);

/* The sample at a position in 0 .. sampler_len() - 1, and which of its copies it is: below
 * sampler_copies(), so that no two are augmented alike. */
int64_t sampler_at(const struct sampler *s, int64_t position);
int64_t sampler_copy(const struct sampler *s, int64_t position);
int64_t sampler_copies(const struct sampler *s);

#endif
