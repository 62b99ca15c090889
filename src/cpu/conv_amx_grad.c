/*
 * The weight gradient, and the bias's: sums over positions, 32 of them a multiply.
 *
 * The left side of the tiles is x, channel by channel (`turned`: a line of positions for
 * each channel and phase of the stride; a tap is a distance along it), the right side dy
 * in pairs of positions (`pairs`), with zeros where a position is no result. Both are
 * made for a chunk of segments: bands of images.
 *
 * Small weights: each thread makes chunks of its own images and has sums of its own,
 * which are added in thread order. Large ones (`shared`): all threads make a chunk
 * together, and each multiplies it by its own channels of dy.
 */
#include <string.h>

#include "cpu/conv_amx.h"
#include "cpu/conv_amx_tiles.h"
#include "cpu/conv_amx_window.h"

enum {
    LARGE = 512 << 10, /* bytes of weights that no thread should have all to itself */
    SUMS = 1 << 20,    /* bytes of sums that a core's cache holds beside a chunk */
    NEAR = 768 << 10,  /* bytes of such a chunk, */
    FAR = 4000 << 10,  /* of each thread's x where the sums are larger */
    FETCH = 4096,      /* bytes from what is read of dy to what will be */
    STEPS = 8,         /* of 32 positions, whose lines fit in the nearest cache */
    AHEAD = 256,       /* times 32 elements of x are fetched before they are read */
};

/* How threads work: what follows from the shape. */
struct plan {
    struct amx_window v;
    bool plain;             /* one tap, in place: x is read where it lies */
    bool shared;            /* all threads work on the same chunks */
    bool whole;             /* one chunk is all, and goes to dw at once */
    int part;               /* channels of dy that a thread multiplies */
    int images, image_rows; /* plain: all images are one */
    int rows;               /* of results in a segment */
    int segments;           /* in a chunk */
    int positions;          /* of a chunk, with those that fill the last multiply */
    int phases_w;
    int line;        /* elements of a line of turned x */
    ptrdiff_t panel; /* elements of the pairs of 16 channels */
    int blocks;      /* of 16 rows on the left: channels / 16 x taps */
    int left, right; /* blocks of a multiply: four sums */
    int squares;     /* of four sums for `left` blocks */
    /* byte offsets in a thread's scratch, and its size; then the shared chunk's */
    size_t copy, turned, pairs, sum, bias, total;
};

static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Positions from one segment to the next; even, for pairs. */
static int segment(const struct plan *p, int rows)
{
    return round_up((p->plain ? rows : amx_window_plane(&p->v, rows)) * p->v.pitch, 2);
}

/* Segments are whole images, or bands of one where those would be too large. */
static void plan_chunk(struct plan *p, int k, int threads)
{
    size_t dy = (size_t)k * sizeof(uint16_t);
    size_t x = (size_t)(p->v.step_h * p->phases_w * p->v.channels) * sizeof(uint16_t);
    size_t sums = (size_t)p->blocks * (size_t)p->part * LANES * sizeof(float);
    size_t near = p->shared ? (size_t)(2 * threads) * NEAR : NEAR;
    int most = (int)(sums > SUMS ? (size_t)threads * FAR / x : near / (x + dy));

    /* a band should not be small beside what it reads above and below */
    most = most > 3 * p->v.reach * p->v.pitch ? most : 3 * p->v.reach * p->v.pitch;

    p->rows = p->image_rows;
    if (p->plain && p->shared) /* each thread makes a part */
        p->rows = (p->rows + threads - 1) / threads;
    while (p->rows > 1 &&
           segment(p, p->rows) * (p->plain && p->shared ? threads : 1) > most)
        p->rows = (p->rows + 1) / 2;
    p->segments = p->plain && p->shared ? threads : most / segment(p, p->rows);
    if (p->rows < p->image_rows && !p->plain)
        p->segments = 1;
    p->segments =
        at_most(p->segments, p->images * ((p->image_rows + p->rows - 1) / p->rows));
    if (p->segments < 1)
        p->segments = 1;
    p->positions = round_up(p->segments * segment(p, p->rows), DEPTH);
}

static struct plan plan_of(const struct conv_shape *s, int threads)
{
    struct plan p = {.v = amx_window_forward(s)};
    const struct amx_window *v = &p.v;
    size_t weights = (size_t)(v->taps * v->channels) * (size_t)s->k * sizeof(float);
    size_t lines, groups, tile = TILE * sizeof(float);

    p.plain = v->plain && !v->reach && !v->top && v->rows == v->h;
    p.images = p.plain ? 1 : s->n;
    p.image_rows = p.plain ? s->n * v->h : v->rows;
    p.shared = threads > 1 && weights >= LARGE;
    p.part = s->k;
    if (p.shared)
        p.part = round_up((s->k / LANES + threads - 1) / threads, 2) * LANES;
    p.phases_w = v->span > 1 ? 1 : v->step;
    p.blocks = v->taps * v->channels / LANES;
    p.right = p.part > LANES ? 2 : 1;
    p.left = 4 / p.right;
    p.squares = (p.part / LANES + p.right - 1) / p.right;
    plan_chunk(&p, s->k, threads);
    p.whole = (p.shared || threads == 1) &&
              (int64_t)p.segments * p.rows >= (int64_t)p.images * p.image_rows;

    /* a line ends with zeros for the last tap; lines do not fall on the same cache sets
     */
    p.line = round_up(p.positions + (v->reach + 1) * v->pitch, 2 * DEPTH) + DEPTH;
    lines = (size_t)(v->step_h * p.phases_w * v->channels);
    p.copy = align64(p.plain ? 0 : amx_window_copied(v, p.rows) * sizeof(uint16_t));
    p.sum = p.copy;
    groups = p.whole ? 1 : (size_t)((p.blocks + p.left - 1) / p.left);
    p.bias = p.sum + groups * (size_t)p.squares * 4 * tile;
    p.turned = p.bias + (size_t)(p.part / LANES) * tile;
    p.pairs = align64(p.turned + lines * (size_t)p.line * sizeof(uint16_t));
    p.panel = (ptrdiff_t)p.positions * LANES + DEPTH;
    p.total = p.pairs + align64((size_t)p.panel * (size_t)(s->k / LANES) * 2);
    return p;
}

size_t amx_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    return plan_of(s, threads).total * (size_t)threads;
}

/* ---- both sides of the tiles ---- */

/* Brings elements near that are read soon; they may lie outside of the tensor. */
INLINE void fetch(const uint16_t *p, int n)
{
    for (int i = 0; i < n; i += DEPTH)
        _mm_prefetch((const char *)(p + i), _MM_HINT_T0);
}

/* v[i]: channels 0 to 31 of pixel i, as 16 pairs; zeros from pixel `count` on. */
INLINE void load_pixels(const uint16_t *x, ptrdiff_t step, int count, __m512i v[LANES])
{
    for (int i = 0; i < LANES; i++)
        v[i] = i < count ? _mm512_loadu_si512(x + i * step) : _mm512_setzero_si512();
}

/* v[i]: channels 0 to 15 of pixel i, then those of pixel i + 16. */
INLINE void load_half_pixels(const uint16_t *x, ptrdiff_t step, int count,
                             __m512i v[LANES])
{
    for (int i = 0; i < LANES; i++) {
        __m256i low = _mm256_setzero_si256(), high = low;

        if (i < count)
            low = _mm256_loadu_si256((const __m256i *)(x + i * step));
        if (i + LANES < count)
            high = _mm256_loadu_si256((const __m256i *)(x + (i + LANES) * step));
        v[i] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
}

/* Of 32 pixels those before the `count`th, and one more if that is odd: they end evenly.
 */
INLINE __mmask32 even_mask(int count)
{
    return count < DEPTH - 1 ? (1u << (count + (count & 1))) - 1 : 0xffffffff;
}

/* Two lines of pixels from pairs of channels: of pixels 0 to 15, and 16 to 31. */
INLINE void store_lines(__m512i low, __m512i high, uint16_t *to, ptrdiff_t line,
                        __mmask32 mask)
{
    const __m512i even =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32,
                         30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));

    _mm512_mask_storeu_epi16(to, mask, _mm512_permutex2var_epi16(low, even, high));
    _mm512_mask_storeu_epi16(to + line, mask, _mm512_permutex2var_epi16(low, odd, high));
}

/*
 * 32 channels of at most 32 pixels, `step` elements apart, as lines: to[channel][pixel].
 * An odd `count` is made even by a zero.
 */
ISA static void turn_32(const uint16_t *x, ptrdiff_t step, int count, uint16_t *to,
                        ptrdiff_t line)
{
    __m512i low[LANES], high[LANES];
    __mmask32 mask = even_mask(count);

    load_pixels(x, step, count, low);
    transpose16(low);
    load_pixels(x + LANES * step, step, count - LANES, high);
    transpose16(high);
    for (int c = 0; c < LANES; c++)
        store_lines(low[c], high[c], to + 2 * c * line, line, mask);
}

/* The same of 16 channels. */
ISA static void turn_16(const uint16_t *x, ptrdiff_t step, int count, uint16_t *to,
                        ptrdiff_t line)
{
    __m512i v[LANES];
    __mmask32 mask = even_mask(count);

    load_half_pixels(x, step, count, v);
    transpose16(v);
    for (int c = 0; c < LANES / 2; c++)
        store_lines(v[c], v[c + LANES / 2], to + 2 * c * line, line, mask);
}

/* Pixels of a band of dy, position after position; NULL: no result lies there. */
struct places {
    const uint16_t *next; /* the row's next pixel */
    int rows, cols, pitch, col;
    ptrdiff_t step;
};

static const uint16_t *next_place(struct places *p)
{
    const uint16_t *at = NULL;

    if (!p->rows)
        return NULL;
    if (p->col < p->cols) {
        at = p->next;
        p->next += p->step;
    }
    if (++p->col == p->pitch) {
        p->col = 0;
        p->rows--;
    }
    return at;
}

/*
 * `channels` of `count` positions, as pairs: to[channel / 16][position / 2][16][2],
 * panels of 16 channels `panel` elements apart.
 */
ISA static void pair_up(struct places *from, int count, int channels, uint16_t *to,
                        ptrdiff_t panel)
{
    /* words of a and b in turns, of channels 0 to 15 and 16 to 31 */
    const __m512i first =
        _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39,
                         7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
    const __m512i second = _mm512_add_epi16(first, _mm512_set1_epi16(LANES));

    for (int i = 0; i < count; i += 2, to += 2 * LANES) {
        const uint16_t *a = next_place(from), *b = next_place(from);

        for (int c = 0; c < channels; c += 2 * LANES) {
            __mmask32 m = c + LANES < channels ? 0xffffffff : 0xffff;
            __m512i va = a ? _mm512_maskz_loadu_epi16(m, a + c) : _mm512_setzero_si512();
            __m512i vb = b ? _mm512_maskz_loadu_epi16(m, b + c) : _mm512_setzero_si512();
            if (a)
                _mm_prefetch((const char *)(a + c) + FETCH, _MM_HINT_T0);
            if (b)
                _mm_prefetch((const char *)(b + c) + FETCH, _MM_HINT_T0);
            uint16_t *at = to + c / LANES * panel;

            _mm512_storeu_si512(at, _mm512_permutex2var_epi16(va, first, vb));
            if (c + LANES < channels)
                _mm512_storeu_si512(at + panel,
                                    _mm512_permutex2var_epi16(va, second, vb));
        }
    }
}

/* ---- the multiply ---- */

struct blocks {
    const uint16_t *left[4];  /* lines of 16 channels, from the tap on */
    const uint16_t *right[2]; /* pairs of 16 channels */
    ptrdiff_t line;
    int steps; /* of 32 positions */
};

/* sum[2 i + j] of left i and right j; `first`: it begins at zero. */
ISA static void multiply_2x2(const struct blocks *b, float sum[4][TILE], bool first)
{
    const ptrdiff_t bytes = b->line * 2;

    if (first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sum[0], LINE);
        _tile_loadd(1, sum[1], LINE);
        _tile_loadd(2, sum[2], LINE);
        _tile_loadd(3, sum[3], LINE);
    }
    for (int i = 0; i < b->steps; i++) {
        const ptrdiff_t at = (ptrdiff_t)i * DEPTH, pair = at * LANES;

        _tile_loadd(6, b->right[0] + pair, LINE);
        _tile_loadd(4, b->left[0] + at, bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, b->right[1] + pair, LINE);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, b->left[1] + at, bytes);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
    }
    _tile_stored(0, sum[0], LINE);
    _tile_stored(1, sum[1], LINE);
    _tile_stored(2, sum[2], LINE);
    _tile_stored(3, sum[3], LINE);
}

/* sum[i] of left i and right 0 */
ISA static void multiply_4x1(const struct blocks *b, float sum[4][TILE], bool first)
{
    const ptrdiff_t bytes = b->line * 2;

    if (first) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sum[0], LINE);
        _tile_loadd(1, sum[1], LINE);
        _tile_loadd(2, sum[2], LINE);
        _tile_loadd(3, sum[3], LINE);
    }
    for (int i = 0; i < b->steps; i++) {
        const ptrdiff_t at = (ptrdiff_t)i * DEPTH;

        _tile_loadd(6, b->right[0] + at * LANES, LINE);
        _tile_loadd(4, b->left[0] + at, bytes);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(5, b->left[1] + at, bytes);
        _tile_dpbf16ps(1, 5, 6);
        _tile_loadd(4, b->left[2] + at, bytes);
        _tile_dpbf16ps(2, 4, 6);
        _tile_loadd(5, b->left[3] + at, bytes);
        _tile_dpbf16ps(3, 5, 6);
    }
    _tile_stored(0, sum[0], LINE);
    _tile_stored(1, sum[1], LINE);
    _tile_stored(2, sum[2], LINE);
    _tile_stored(3, sum[3], LINE);
}

/* sum[row][channel] of a left side of ones: all rows are the bias's gradient. */
ISA static void multiply_ones(const uint16_t *right, int steps, float *sum, bool first)
{
    uint32_t ones[TILE] __attribute__((aligned(64)));

    for (int i = 0; i < TILE; i++)
        ones[i] = 0x3f803f80; /* two of bf16's */
    written();
    _tile_loadd(4, ones, LINE);
    if (first)
        _tile_zero(0);
    else
        _tile_loadd(0, sum, LINE);
    for (int i = 0; i < steps; i++) {
        _tile_loadd(6, right + (ptrdiff_t)i * DEPTH * LANES, LINE);
        _tile_dpbf16ps(0, 4, 6);
    }
    _tile_stored(0, sum, LINE);
}

/* ---- a thread ---- */

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    const struct plan *p;
    const uint16_t *x, *dy;
    float *dw, *db;
    char *scratch;
};

/* What a thread works with; the chunk is the first thread's where it is shared. */
struct mine {
    int thread;
    uint16_t *copy, *turned, *pairs;
    float *sum, *bias;
    int k0, k; /* its channels of dy */
};

static struct mine mine_of(const struct grad_job *j, int thread)
{
    const struct plan *p = j->p;
    char *at = j->scratch + (size_t)thread * p->total,
         *chunk = p->shared ? j->scratch : at;
    struct mine m = {
        .thread = thread,
        .copy = (uint16_t *)at,
        .turned = (uint16_t *)(chunk + p->turned),
        .pairs = (uint16_t *)(chunk + p->pairs),
        .sum = (float *)(at + p->sum),
        .bias = (float *)(at + p->bias),
        .k = p->part,
    };

    if (p->shared) {
        m.k0 = thread * p->part;
        m.k = at_most(p->part, j->s->k - m.k0);
    }
    return m;
}

/* The line of positions that a tap reads of channel c. */
static const uint16_t *line_of(const struct plan *p, const struct mine *m,
                               const struct amx_tap *t, int c)
{
    const struct amx_window *v = &p->v;
    int down = t->y - v->top, right = v->column == 1 ? t->x - v->left : 0;
    int phase = down % v->step_h * p->phases_w + right % p->phases_w;

    return m->turned + (ptrdiff_t)(phase * v->channels + c) * p->line +
           (ptrdiff_t)(down / v->step_h) * v->pitch + right / p->phases_w;
}

static bool phase_read(const struct plan *p, const struct mine *m, int phase)
{
    ptrdiff_t lo = (ptrdiff_t)phase * p->v.channels * p->line;

    for (int t = 0; t < p->v.taps; t++) {
        ptrdiff_t at = line_of(p, m, &p->v.tap[t], 0) - m->turned;

        if (at >= lo && at < lo + (ptrdiff_t)p->v.channels * p->line)
            return true;
    }
    return false;
}

/* Lines of x from position `at` of the chunk on; `count` positions, read from `from`. */
ISA static void turn_all(const struct grad_job *j, const struct mine *m,
                         const uint16_t *from, int count, int at)
{
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    ptrdiff_t step = amx_window_step(v);
    int wide = depth_of(v->channels), ahead = DEPTH * (v->c < AHEAD ? AHEAD / v->c : 1);

    for (int phase = 0; phase < v->step_h * p->phases_w; phase++) {
        const uint16_t *plane = from + (ptrdiff_t)(phase / p->phases_w) * count * step +
                                (ptrdiff_t)(phase % p->phases_w) * v->c;

        if (!phase_read(p, m, phase))
            continue;
        for (int i = 0; i < count; i += DEPTH) /* memory in order */
            for (int c = 0; c < v->channels; c += wide) {
                const uint16_t *at_pixel = plane + i * step + c;

                if (p->plain)
                    fetch(plane + (i + ahead) * step + c * DEPTH, wide * DEPTH);
                (wide == DEPTH ? turn_32 : turn_16)(
                    at_pixel, step, count - i,
                    m->turned + (ptrdiff_t)(phase * v->channels + c) * p->line + at + i,
                    p->line);
            }
    }
}

/* Rows [y, y + rows) of an image: both sides, from position `at` of the chunk on. */
static void prepare(const struct grad_job *j, const struct mine *m, int64_t image, int y,
                    int rows, int at)
{
    const struct conv_shape *s = j->s;
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    const uint16_t *x = j->x + image * s->h * s->w * s->c;
    struct places places = {
        .next = j->dy + (image * v->rows + y) * s->wo * s->k,
        .rows = rows,
        .cols = s->wo,
        .pitch = v->pitch,
        .step = s->k,
    };

    if (p->plain) {
        turn_all(j, m, x + (ptrdiff_t)y * s->w * s->c, rows * v->pitch, at);
    } else {
        amx_window_copy(v, x, y, rows, m->copy);
        turn_all(j, m, m->copy, amx_window_plane(v, rows) * v->pitch, at);
    }
    pair_up(&places, segment(p, rows), s->k, m->pairs + (ptrdiff_t)at * LANES, p->panel);
}

/* Behind the last segment: zeros, up to a whole multiply and what taps read there. */
static void end_chunk(const struct grad_job *j, const struct mine *m, int end)
{
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    int all = round_up(end, DEPTH), first = p->shared ? m->thread : 0;
    int each = p->shared ? j->dev->threads : 1;
    struct places none = {0};

    if (!first)
        pair_up(&none, all - end, j->s->k, m->pairs + (ptrdiff_t)end * LANES, p->panel);
    for (int64_t i = first; i < (int64_t)v->step_h * p->phases_w * v->channels; i += each)
        memset(m->turned + i * p->line + end, 0, (size_t)(p->line - end) * 2);
}

/* dw[k][tap][c] = a tile of sums [16 c][16 k], added over `parts` that lie `next` apart.
 */
ISA static void put_tile(const struct grad_job *j, const float *sum, int parts,
                         size_t next, int block, int k)
{
    const struct conv_shape *s = j->s;
    struct amx_reach reach = amx_reach(s);
    ptrdiff_t next_k = (ptrdiff_t)reach.taps * reach.values;
    int c = block / reach.taps * LANES, n = reach.values - c;
    float *to = j->dw + k * next_k + block % reach.taps * reach.values + c;
    __mmask16 some = n < LANES ? (__mmask16)((1u << (n < 0 ? 0 : n)) - 1) : 0xffff;
    __m512i v[LANES];

    for (int i = 0; i < LANES; i++) {
        const char *at = (const char *)(sum + (ptrdiff_t)i * LANES);
        __m512 all = _mm512_loadu_ps(at);

        for (int t = 1; t < parts; t++)
            all = _mm512_add_ps(all, _mm512_loadu_ps(at + (size_t)t * next));
        v[i] = (__m512i)all;
    }
    transpose16(v);
    if (j->p->shared && (uintptr_t)to % LINE == 0 && next_k % LANES == 0 && n >= LANES) {
        /* large: nobody would find it in the cache */
        for (int i = 0; i < LANES; i++)
            _mm512_stream_ps(to + i * next_k, (__m512)v[i]);
        return;
    }
    for (int i = 0; i < LANES; i++)
        _mm512_mask_storeu_ps(to + i * next_k, some, (__m512)v[i]);
}

/* One tile of the thread's sums, by its place on both sides. */
static float *sum_at(const struct plan *p, const struct mine *m, int block, int kb)
{
    int group = p->whole ? 0 : block / p->left;
    ptrdiff_t square = (ptrdiff_t)group * p->squares + kb / p->right;

    return m->sum + (4 * square + block % p->left * p->right + kb % p->right) * TILE;
}

/*
 * What the chunk's positions add to `left` blocks of rows from `block` on. A few steps at
 * a time: then the lines stay in the nearest cache while the pairs go by.
 */
static void multiply_group(const struct grad_job *j, const struct mine *m, int block,
                           int steps, bool first)
{
    const struct plan *p = j->p;
    const uint16_t *pairs = m->pairs + m->k0 / LANES * p->panel, *left[4];
    struct blocks b = {.line = p->line};

    for (int i = 0; i < p->left; i++) { /* behind the last block it once more */
        int at = at_most(block + i, p->blocks - 1);

        left[i] = line_of(p, m, &p->v.tap[at % p->v.taps], at / p->v.taps * LANES);
    }
    for (int lo = 0; lo < steps; lo += STEPS) {
        b.steps = at_most(STEPS, steps - lo);
        for (int i = 0; i < p->left; i++)
            b.left[i] = left[i] + (ptrdiff_t)lo * DEPTH;
        for (int kb = 0; kb * LANES < m->k; kb += p->right) {
            float(*sum)[TILE] = (float(*)[TILE])sum_at(p, m, block, kb);

            for (int i = 0; i < p->right; i++)
                b.right[i] = pairs + at_most(kb + i, m->k / LANES - 1) * p->panel +
                             (ptrdiff_t)lo * DEPTH * LANES;
            (p->right > 1 ? multiply_2x2 : multiply_4x1)(&b, sum, first && !lo);
        }
    }
}

/* Everything that the chunk's positions add. */
static void multiply_chunk(const struct grad_job *j, const struct mine *m, int end,
                           bool first)
{
    const struct plan *p = j->p;
    int steps = round_up(end, DEPTH) / DEPTH;

    for (int block = 0; block < p->blocks; block += p->left) {
        multiply_group(j, m, block, steps, first);
        for (int i = block; p->whole && i < block + p->left && i < p->blocks; i++)
            for (int kb = 0; kb * LANES < m->k; kb++)
                put_tile(j, sum_at(p, m, i, kb), 1, 0, i, m->k0 + kb * LANES);
    }
    for (int kb = 0; j->db && kb * LANES < m->k; kb++)
        multiply_ones(m->pairs + (m->k0 / LANES + kb) * p->panel, steps,
                      m->bias + (ptrdiff_t)kb * TILE, first);
}

/* Rows [lo, hi) of the results of all images, chunk by chunk. */
static void grad_rows(const struct grad_job *j, const struct mine *m, int64_t lo,
                      int64_t hi)
{
    const struct plan *p = j->p;
    bool first = true;

    while (lo < hi) {
        int end = 0;

        for (int i = 0; i < p->segments && lo < hi; i++) {
            int64_t image = lo / p->image_rows;
            int y = (int)(lo % p->image_rows);
            int rows = at_most(p->rows, p->image_rows - y);

            rows = rows < hi - lo ? rows : (int)(hi - lo);
            if (!p->shared || i % j->dev->threads == m->thread)
                prepare(j, m, image, y, rows, end);
            end += segment(p, rows);
            lo += rows;
        }
        if (p->shared)
            cpu_barrier(); /* what is zeroed behind a segment may be written by its maker
                            */
        end_chunk(j, m, end);
        if (p->shared)
            cpu_barrier();
        if (m->k > 0)
            multiply_chunk(j, m, end, first);
        if (p->shared)
            cpu_barrier(); /* before the next chunk */
        first = false;
    }
}

ISA static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    const struct plan *p = j->p;
    struct mine m = mine_of(j, thread);
    int64_t all = (int64_t)p->images * p->image_rows, lo = 0, hi = all;

    if (!p->shared)
        cpu_part(all, 1, thread, j->dev->threads, &lo, &hi);
    if (lo == hi) { /* no rows: its sums are zeros */
        memset(m.sum, 0, p->turned - p->sum);
        return;
    }
    tiles_begin(DEPTH);
    grad_rows(j, &m, lo, hi);
    tiles_end();
}

/* Channels [lo, hi) of dy. */
static void reduce_part(void *arg, int64_t lo, int64_t hi)
{
    const struct grad_job *j = arg;
    const struct plan *p = j->p;
    int parts = p->shared ? 1 : j->dev->threads;

    for (int k = (int)lo; k < hi; k += LANES) {
        struct mine m = mine_of(j, p->shared ? k / p->part : 0);
        int kb = (k - m.k0) / LANES;

        for (int block = 0; !p->whole && block < p->blocks; block++)
            put_tile(j, sum_at(p, &m, block, kb), parts, p->total, block, k);
        for (int i = 0; j->db && i < LANES; i++) {
            const char *at = (const char *)(m.bias + (ptrdiff_t)kb * TILE + i);

            j->db[k + i] = 0;
            for (int t = 0; t < parts; t++)
                j->db[k + i] += *(const float *)(at + (size_t)t * p->total);
        }
    }
}

/* NOLINTBEGIN(readability-non-const-parameter): dw is written through the job */
void amx_weight_grad(const struct device *dev, const struct conv_shape *s, const void *x,
                     const void *dy, float *dw, float *db, void *scratch)
/* NOLINTEND(readability-non-const-parameter) */
{
    struct plan p = plan_of(s, dev->threads);
    struct grad_job j = {dev, s, &p, x, dy, dw, db, scratch};

    cpu_parallel(dev, grad_thread, &j);
    if (!p.whole || db)
        cpu_for(dev, s->k, LANES, reduce_part, &j);
}
