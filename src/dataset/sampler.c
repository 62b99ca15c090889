#include "dataset/sampler.h"

#include "base/error.h"
#include "base/philox.h"

enum { SAMPLER_ROUNDS = 8, SAMPLER_REPEATED = 256 };

/* Half the bits of the smallest power of four that holds n. */
static int sampler_half_bits(int64_t n)
{
    int bits = 1;

    while (bits < 31 && (int64_t)1 << (2 * bits) < n)
        bits++;
    return bits;
}

static uint64_t sampler_scramble(const struct sampler *s, int half, uint64_t v)
{
    uint64_t mask = ((uint64_t)1 << half) - 1, left = v >> half, right = v & mask;

    for (uint64_t round = 0; round < SAMPLER_ROUNDS; round++) {
        uint64_t element = right | round << 32;
        uint64_t next =
            left ^ (philox(s->seed, PHILOX_SHUFFLE, s->epoch, element).v[0] & mask);

        left = right;
        right = next;
    }
    return left << half | right;
}

int64_t sampler_len(const struct sampler *s)
{
    if (s->repeats <= 1 || s->n < SAMPLER_REPEATED)
        return s->n;
    return s->n / SAMPLER_REPEATED * SAMPLER_REPEATED;
}

int sampler_copy(const struct sampler *s, int64_t position)
{
    return s->repeats > 1 ? (int)(position % s->repeats) : 0;
}

int64_t sampler_at(const struct sampler *s, int64_t position)
{
    int half = sampler_half_bits(s->n);
    uint64_t v = (uint64_t)(s->repeats > 1 ? position / s->repeats : position);

    if (position < 0 || position >= sampler_len(s))
        BUG("position %lld of an epoch of %lld", (long long)position,
            (long long)sampler_len(s));
    if (!s->shuffle)
        return (int64_t)v;
    do
        v = sampler_scramble(s, half, v);
    while (v >= (uint64_t)s->n);
    return (int64_t)v;
}
