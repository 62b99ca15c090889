/*
 * Packs weights for conv_amx: packed[out / 16][tap][in / depth][depth / 2][16 outs][2
 * ins], the right side of the tiles. Backward, in and out are swapped.
 */
#include "cpu/conv/amx.h"
#include "cpu/conv/amx_tiles.h"
#include "cpu/conv/amx_window.h"

size_t amx_packed(const struct conv_shape *s)
{
    struct amx_reach reach = amx_reach(s);

    return (size_t)(reach.taps * reach.channels) * (size_t)s->k * sizeof(uint16_t);
}

enum { STREAMED = 256 << 10 }; /* bytes of packed weights from which they are streamed */

struct pack_job {
    const struct conv_shape *s;
    uint32_t *packed; /* pairs */
    const float *w;
    bool backward, streamed;
};

/* Stores one line; streamed, because the weights are used only after all are packed. */
ISA static inline void put_line(uint32_t *dst, __m512i v, bool streamed)
{
    if (streamed)
        _mm512_stream_si512((__m512i *)dst, v);
    else
        _mm512_storeu_si512(dst, v);
}

/* Mask of the first n of 16 lanes. */
INLINE __mmask16 first(int n)
{
    return (__mmask16)(n >= LANES ? 0xffffu : (1u << (n < 0 ? 0 : n)) - 1);
}

/* Forward: 16 outs, `next` apart, of at most `n` adjacent ins. */
ISA static void pack_forward(const float *w, ptrdiff_t next, int depth, int n,
                             uint32_t *dst, bool streamed)
{
    __m512i v[LANES];
    __mmask16 lower = first(n), upper = first(min_int(n, depth) - LANES);

    for (int o = 0; o < LANES; o++, w += next)
        v[o] = (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(upper, w + LANES),
                                            _mm512_maskz_loadu_ps(lower, w));
    transpose16(v);
    for (int i = 0; i < depth / 2; i++)
        put_line(dst + (ptrdiff_t)i * LANES, v[i], streamed);
}

/* Backward: 16 adjacent outs of a group; ins are `next` apart. */
ISA static void pack_backward(const float *w, ptrdiff_t next, int depth, uint32_t *dst,
                              bool streamed)
{
    for (int i = 0; i < depth / 2; i++, w += 2 * next, dst += LANES) {
        __m256i a = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(w));
        __m256i b = (__m256i)_mm512_cvtneps_pbh(_mm512_loadu_ps(w + next));

        put_line(dst,
                 _mm512_or_si512(_mm512_cvtepu16_epi32(a),
                                 _mm512_slli_epi32(_mm512_cvtepu16_epi32(b), 16)),
                 streamed);
    }
}

/* Packs outs [lo, hi), in the order of the weights in memory. */
static void pack_part(void *arg, int64_t lo, int64_t hi)
{
    const struct pack_job *j = arg;
    const struct conv_shape *s = j->s;
    struct amx_reach reach = amx_reach(s);
    int taps = reach.taps, groups = conv_groups(s), c = s->c / groups;
    int in = j->backward ? s->k / groups : reach.channels;
    int depth = depth_of(in);
    ptrdiff_t next = (ptrdiff_t)taps * reach.values; /* between values of k */
    ptrdiff_t panel = (ptrdiff_t)taps * in / 2, tap_len = (ptrdiff_t)in / 2 * LANES;

    if (!j->backward) {
        for (int64_t o = lo; o < hi; o += LANES)
            for (int tap = 0; tap < taps; tap++)
                for (int i = 0; i < in; i += depth)
                    pack_forward(j->w + o * next + tap * reach.values + i, next, depth,
                                 reach.values - i,
                                 j->packed + o * panel + tap * tap_len + i / 2 * LANES,
                                 j->streamed);
    } else {
        for (int i = 0; i < in; i += depth)
            for (int tap = 0; tap < taps; tap++)
                for (int64_t o = lo; o < hi; o += LANES)
                    pack_backward(j->w + (o / c * in + i) * next + tap * c + o % c, next,
                                  depth,
                                  j->packed + o * panel + tap * tap_len + i / 2 * LANES,
                                  j->streamed);
    }
    if (j->streamed)
        _mm_sfence(); /* other threads read the packed weights */
}

void amx_pack(const struct device *dev, const struct conv_shape *s, void *packed,
              const float *w, bool backward)
{
    bool streamed = amx_packed(s) >= STREAMED && (uintptr_t)packed % LINE == 0;
    struct pack_job j = {s, packed, w, backward, streamed};

    cpu_for(dev, backward ? s->c : s->k, LANES, pack_part, &j);
}
