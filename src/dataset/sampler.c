#include "dataset/sampler.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/philox.h"

enum { SAMPLER_ROUNDS = 8, SAMPLER_REPEATED = 256 };

/* Larger than the number of windows. */
#define SHARDS_SALT  ((uint64_t)1 << 27)
#define WEIGHTS_SALT (((uint64_t)1 << 28) - 1)
#define PARTS_SALT   (SHARDS_SALT + 1) /* for rank 0; followed by those of other ranks */

/* Returns half the number of bits of the smallest power of four that is at least n. */
static int sampler_half_bits(int64_t n)
{
    int bits = 1;

    while (bits < 31 && (int64_t)1 << (2 * bits) < n)
        bits++;
    return bits;
}

/* One pass of the Feistel network. `salt` selects a permutation of the same key; it
 * occupies bits 36 and up. */
static uint64_t sampler_scramble(const struct sampler *s, int half, uint64_t salt,
                                 uint64_t v)
{
    uint64_t mask = ((uint64_t)1 << half) - 1, left = v >> half, right = v & mask;

    for (uint64_t round = 0; round < SAMPLER_ROUNDS; round++) {
        uint64_t element = right | round << 32 | salt << 36;
        uint64_t next =
            left ^ (philox(s->seed, PHILOX_SHUFFLE, s->epoch, element).v[0] & mask);

        left = right;
        right = next;
    }
    return left << half | right;
}

/* Returns the image of v under a permutation of 0 .. n - 1. */
static uint64_t sampler_permute(const struct sampler *s, int64_t n, uint64_t salt,
                                uint64_t v)
{
    int half = sampler_half_bits(n);

    do
        v = sampler_scramble(s, half, salt, v);
    while (v >= (uint64_t)n);
    return v;
}

void sampler_windows_init(struct sampler_windows *w, const int64_t *first, int64_t nshard,
                          int shards)
{
    *w = (struct sampler_windows){
        .first = first,
        .nshard = nshard,
        .shards = shards,
        .nwindow = (nshard + shards - 1) / shards,
    };
    w->shard = xcalloc((size_t)nshard, sizeof(*w->shard));
    w->start = xcalloc((size_t)w->nwindow + 1, sizeof(*w->start));
}

void sampler_windows_order(struct sampler_windows *w, uint64_t seed, uint64_t epoch)
{
    struct sampler s = {.seed = seed, .epoch = epoch};
    int64_t n = 0;

    for (int64_t i = 0; i < w->nshard; i++) {
        int64_t k = (int64_t)sampler_permute(&s, w->nshard, SHARDS_SALT, (uint64_t)i);

        if (i % w->shards == 0)
            w->start[i / w->shards] = n;
        w->shard[i] = k;
        n += w->first[k + 1] - w->first[k];
    }
    w->start[w->nwindow] = n;
}

void sampler_windows_release(struct sampler_windows *w)
{
    free(w->shard);
    free(w->start);
    *w = (struct sampler_windows){0};
}

/* Returns the sample at position v of the two-level order. */
static int64_t windows_at(const struct sampler *s, int64_t v)
{
    const struct sampler_windows *w = s->windows;
    int64_t low = 0, high = w->nwindow, k;

    while (high - low > 1) {
        int64_t middle = (low + high) / 2;

        if (w->start[middle] <= v)
            low = middle;
        else
            high = middle;
    }
    k = (int64_t)sampler_permute(s, w->start[low + 1] - w->start[low], (uint64_t)low + 1,
                                 (uint64_t)(v - w->start[low]));
    for (int64_t i = low * w->shards;; i++) {
        int64_t pos = w->first[w->shard[i]], n = w->first[w->shard[i] + 1] - pos;

        if (k < n)
            return pos + k;
        k -= n;
    }
}

/* Returns the number of samples in this rank's part. */
static int64_t part_len(const struct sampler *s)
{
    return s->world ? (s->n - s->rank + s->world - 1) / s->world : s->n;
}

int64_t sampler_len(const struct sampler *s)
{
    if (s->world && (s->windows || s->repeats > 1))
        BUG("a part with windows or repeats");
    if (s->weights && (s->world || s->windows || s->repeats > 1))
        BUG("weights with parts, windows, or repeats");
    if (s->world)
        return part_len(s);
    if (s->repeats <= 1 || s->n < SAMPLER_REPEATED)
        return s->n;
    return s->n / SAMPLER_REPEATED * SAMPLER_REPEATED;
}

int64_t sampler_copies(const struct sampler *s)
{
    return s->weights ? s->n : s->repeats > 1 ? s->repeats : 1;
}

int64_t sampler_copy(const struct sampler *s, int64_t position)
{
    return s->weights ? position : position % sampler_copies(s);
}

/* Returns the first sample whose cumulative weight exceeds a uniform draw from [0,
 * sum). */
static int64_t draw_at(const struct sampler *s, int64_t position)
{
    struct philox r = philox(s->seed, PHILOX_SHUFFLE, s->epoch,
                             (uint64_t)position | WEIGHTS_SALT << 36);
    double u = ((double)(r.v[0] >> 5) * 0x1p26 + (double)(r.v[1] >> 6)) * 0x1p-53;
    double goal = u * s->weights[s->n - 1];
    int64_t low = 0, high = s->n - 1;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (s->weights[middle] > goal)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

int64_t sampler_index(const struct sampler *s, int64_t position)
{
    uint64_t v = (uint64_t)(s->repeats > 1 ? position / s->repeats : position);

    if (position < 0 || position >= sampler_len(s))
        BUG("position %lld of an epoch of %lld", (long long)position,
            (long long)sampler_len(s));
    if (s->weights)
        return draw_at(s, position);
    if (s->world && s->shuffle)
        v = sampler_permute(s, part_len(s), PARTS_SALT + (uint64_t)s->rank, v);
    if (s->world)
        return (int64_t)v * s->world + s->rank;
    if (!s->shuffle)
        return (int64_t)v;
    if (s->windows)
        return windows_at(s, (int64_t)v);
    return (int64_t)sampler_permute(s, s->n, 0, v);
}
