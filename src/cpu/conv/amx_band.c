#include "cpu/conv/amx_band.h"

#include "cpu/conv/amx_tiles.h"

/* Memory needed soon, prefetched a few lines per step while tiles multiply. */
struct prefetch {
    const char *next;
    int lines;
};

INLINE void fetch(struct prefetch *a)
{
    for (int i = 0; i < a->lines; i++, a->next += LINE)
        _mm_prefetch(a->next, _MM_HINT_T1);
}

/* Sums of 2 x 16 positions by 2 x 16 channels: sum[position / 16][channel / 16]. */
INLINE void multiply_2x2(const struct amx_band *b, ptrdiff_t x, ptrdiff_t w, int depth,
                         struct prefetch *prefetch, float sum[4][TILE])
{
    const ptrdiff_t next = LANES * b->step, bytes = b->step * 2;

    sums_zero();
    for (int t = 0; t < b->taps; t++) {
        const uint16_t *px = b->x[t] + x, *pw = b->w[t] + w;

        for (int i = 0; i < b->steps; i++, px += depth, pw += depth * LANES) {
            fetch(prefetch);
            tile_load(6, pw, LINE);
            tile_load(4, px, bytes);
            tile_multiply(0, 4, 6);
            tile_load(7, pw + b->panel, LINE);
            tile_multiply(1, 4, 7);
            tile_load(5, px + next, bytes);
            tile_multiply(2, 5, 6);
            tile_multiply(3, 5, 7);
        }
    }
    sums_store(sum);
}

/* For 4 x 16 positions by 16 channels: sum[position / 16]. */
INLINE void multiply_4x1(const struct amx_band *b, ptrdiff_t x, ptrdiff_t w, int depth,
                         struct prefetch *prefetch, float sum[4][TILE])
{
    const ptrdiff_t next = LANES * b->step, bytes = b->step * 2;

    sums_zero();
    for (int t = 0; t < b->taps; t++) {
        const uint16_t *px = b->x[t] + x, *pw = b->w[t] + w;

        for (int i = 0; i < b->steps; i++, px += depth, pw += depth * LANES) {
            fetch(prefetch);
            tile_load(6, pw, LINE);
            tile_load(4, px, bytes);
            tile_multiply(0, 4, 6);
            tile_load(5, px + next, bytes);
            tile_multiply(1, 5, 6);
            tile_load(4, px + 2 * next, bytes);
            tile_multiply(2, 4, 6);
            tile_load(5, px + 3 * next, bytes);
            tile_multiply(3, 5, 6);
        }
    }
    sums_store(sum);
}

/* Adds the bias to a block's sums and applies an activation other than relu, to all at
 * once, because an instruction of an expr costs a call. */
INLINE void activate(const struct amx_band *b, float sum[4][TILE], int k, int vectors)
{
    for (int t = 0; b->bias && t < 4; t++) {
        __m512 bias = _mm512_loadu_ps(b->bias + k + t % vectors * LANES);

        for (int i = 0; i < TILE; i += LANES)
            _mm512_store_ps(sum[t] + i, _mm512_add_ps(_mm512_load_ps(sum[t] + i), bias));
    }
    b->loops->expr(DTYPE_BF16, b->act.row->value, sum[0], sum[0], sum[0], b->act.m,
                   sum[0], 4 * TILE);
}

INLINE __m512 load_16(const uint16_t *src)
{
    return (__m512)_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)src)), 16);
}

/* Epilogue of the 16 results at y[dst], of channels from k on: relu_value and relu_slope of
 * ops/pointwise.h. */
INLINE __m512 apply_epilogue(const struct amx_band *b, __m512 v, int k, ptrdiff_t dst)
{
    const __m512 zero = _mm512_setzero_ps();

    if (b->bias)
        v = _mm512_add_ps(v, _mm512_loadu_ps(b->bias + k));
    if (b->add)
        v = _mm512_add_ps(v, load_16(b->add + dst));
    if (loop_relu(b->act))
        v = _mm512_mask_mov_ps(v, _mm512_cmp_ps_mask(v, zero, _CMP_LT_OQ), zero);
    if (b->relu_mask)
        v = _mm512_mask_mov_ps(
            v, _mm512_cmp_ps_mask(load_16(b->relu_mask + dst), zero, _CMP_LE_OQ), zero);
    return v;
}

INLINE void store_16(uint16_t *dst, __m512 v)
{
    _mm256_storeu_si256((__m256i *)dst, (__m256i)_mm512_cvtneps_pbh(v));
}

INLINE void store_32(uint16_t *dst, __m512 low, __m512 high)
{
    _mm512_storeu_si512(dst, (__m512i)_mm512_cvtne2ps_pbh(high, low));
}

/*
 * Stores sums [i, i + n) of a block of `vectors` x 16 channels to pixels from `dst` on.
 * Prefetches the destination of the next block, `next` elements on, because its stores
 * alone would fetch the lines too late.
 */
INLINE void store_run(const struct amx_band *b, float sum[4][TILE], int i, int n, int k,
                      ptrdiff_t dst, ptrdiff_t next, int vectors)
{
    bool plain = !b->bias && !b->act.row && !b->relu_mask && !b->add;

    for (; n > 0; n--, i++, dst += b->col) {
        const float *ptr = sum[i / LANES * vectors] + i % LANES * LANES;
        __m512 v = _mm512_load_ps(ptr);

        _mm_prefetch((const char *)(b->y + dst + next), _MM_HINT_T0);
        if (plain && vectors > 1) {
            store_32(b->y + dst, v, _mm512_load_ps(ptr + TILE));
        } else if (plain && b->col == LANES && n > 1) { /* two adjacent pixels */
            store_32(b->y + dst, v, _mm512_load_ps(ptr + LANES));
            n--, i++, dst += b->col;
        } else if (vectors > 1) {
            store_32(
                b->y + dst, apply_epilogue(b, v, k, dst),
                apply_epilogue(b, _mm512_load_ps(ptr + TILE), k + LANES, dst + LANES));
        } else {
            store_16(b->y + dst, apply_epilogue(b, v, k, dst));
        }
    }
}

/* Stores positions [p + skip, p + 64 / vectors) of `vectors` x 16 channels from k on to y. */
INLINE void store_block(const struct amx_band *b, float sum[4][TILE], int p, int skip,
                        int k, int vectors)
{
    const int block = 4 * LANES / vectors, wide = vectors * LANES;
    ptrdiff_t next = k + wide < b->end ? wide : block * b->col + b->begin - k;
    int row = (p + skip) / b->pitch, col = (p + skip) % b->pitch;

    for (int i = skip, n; i < block && row < b->rows; i += n) {
        n = min_int(block - i, (col < b->cols ? b->cols : b->pitch) - col);
        if (col < b->cols)
            store_run(b, sum, i, n, k, row * b->row + col * b->col + k, next, vectors);
        col += n;
        if (col == b->pitch) {
            col = 0;
            row++;
        }
    }
}

/* A block's source stays in the L1 cache while all weights are applied. */
INLINE void run_band(const struct amx_band *b, bool exact, int depth, int vectors)
{
    enum { TILES = 4 };
    const int block = TILES * LANES / vectors;
    const int all = (b->rows - 1) * b->pitch + b->cols;
    const int blocks = (all + block - 1) / block;
    const int multiplies = (b->end - b->begin) / (vectors * LANES) * b->taps * b->steps;
    struct prefetch prefetch = {.next = (const char *)b->next};
    const bool slow = b->act.row && !loop_relu(b->act); /* activate() */
    float sum[TILES][TILE] __attribute__((aligned(64)));
    struct amx_band after = *b; /* what is left for store_block() */

    if (slow) {
        after.bias = NULL;
        after.act.row = NULL;
    }
    if (multiplies)
        prefetch.lines = (int)(b->next_len * 2 / LINE / ((ptrdiff_t)blocks * multiplies));
    for (int p = 0; p < all; p += block) {
        int pos = exact && p + block > all ? all - block : p;

        for (int k = b->begin; k < b->end; k += vectors * LANES) {
            ptrdiff_t w = k / LANES * b->panel, x = pos * b->step;

            if (b->group < b->channels)
                x += (ptrdiff_t)(k / b->group) * b->group_step;
            if (vectors > 1)
                multiply_2x2(b, x, w, depth, &prefetch, sum);
            else
                multiply_4x1(b, x, w, depth, &prefetch, sum);
            if (slow)
                activate(b, sum, k, vectors);
            store_block(&after, sum, pos, p - pos, k, vectors);
        }
    }
}

#define BAND(depth, vectors)                                                             \
    ISA static void run_##depth##_##vectors(const struct amx_band *b, bool exact)        \
    {                                                                                    \
        run_band(b, exact, depth, vectors);                                              \
    }
BAND(16, 1)
BAND(16, 2)
BAND(32, 1)
BAND(32, 2)

static int vectors_of(int channels)
{
    return channels % (2 * LANES) ? 1 : 2;
}

int amx_block(int channels)
{
    return 4 * LANES / vectors_of(channels);
}

void amx_run_band(const struct amx_band *b, bool exact)
{
    static void (*const run[2][2])(const struct amx_band *, bool) = {
        {run_16_1, run_16_2},
        {run_32_1, run_32_2},
    };

    run[b->depth == DEPTH][vectors_of(b->group) - 1](b, exact);
}
