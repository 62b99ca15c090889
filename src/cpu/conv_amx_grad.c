/*
 * The weight gradient, and the bias's: sums over positions, 32 of them a multiply.
 *
 * The left side of the tiles is x, channel by channel (`turned`: a line of positions for
 * each channel and phase of the stride; a tap is a distance along it), the right side dy
 * in pairs of positions (`pairs`), with zeros where a position is no result. A thread
 * goes through its images in chunks that its cache holds.
 *
 * Small weights: each thread has sums of its own for its images, which are added in
 * thread order. Large ones: each thread sees all images, for its own channels of dy.
 */
#include <string.h>

#include "cpu/conv_amx.h"
#include "cpu/conv_amx_tiles.h"
#include "cpu/conv_amx_window.h"

enum {
    LARGE = 512 << 10,  /* bytes of weights that no thread should have all to itself */
    TURNED = 768 << 10, /* bytes of a chunk; four times that for large weights */
    PAIRS = 384 << 10,
};

/* How a thread works: what follows from the shape. */
struct plan {
    struct amx_window v;
    bool plain;             /* one tap, in place: x is read where it lies */
    bool by_k;              /* threads share channels of dy, not images */
    bool whole;             /* one chunk is all, and goes to dw at once */
    int k;                  /* channels of dy that a thread sees */
    int images, image_rows; /* plain: all images are one */
    int rows;               /* of results in a segment: a band of an image */
    int segments;           /* in a chunk; more than one are whole images */
    int positions;          /* of a chunk, with those that fill the last multiply */
    int phases_w;
    int line;   /* elements of a line of turned x */
    int blocks; /* of 16 rows on the left: channels / 16 x taps */
    /* byte offsets in a thread's scratch, and its size */
    size_t turned, pairs, sum, bias, total;
};

static int round_up(int n, int unit)
{
    return (n + unit - 1) / unit * unit;
}

/* Positions of `rows` rows: even, for pairs. */
static int segment(const struct plan *p, int rows)
{
    return round_up((p->plain ? rows : amx_window_plane(&p->v, rows)) * p->v.pitch, 2);
}

/* The largest chunk within bounds: a band of rows, or as many whole images. */
static void plan_chunk(struct plan *p)
{
    int times = p->by_k ? 4 : 1;
    int phases = p->v.step_h * p->phases_w;
    int most = times * TURNED / (phases * p->v.c * 2);

    if (most > times * PAIRS / (p->k * 2))
        most = times * PAIRS / (p->k * 2);
    p->rows = p->image_rows;
    while (p->rows > 1 && segment(p, p->rows) > most)
        p->rows = (p->rows + 1) / 2;
    p->segments = p->rows < p->image_rows ? 1 : most / segment(p, p->rows);
    if (p->segments > p->images)
        p->segments = p->images;
    if (p->segments < 1)
        p->segments = 1;
    p->positions = round_up(p->segments * segment(p, p->rows), DEPTH);
}

static struct plan plan_of(const struct conv_shape *s, int threads)
{
    struct plan p = {.v = amx_window_forward(s)};
    const struct amx_window *v = &p.v;
    int taps = s->kernel_h * s->kernel_w;
    size_t weights = (size_t)taps * (size_t)s->c * (size_t)s->k * sizeof(float);
    size_t lines, tile = TILE * sizeof(float);

    p.plain = v->plain && !v->reach && !v->top && v->rows == v->h;
    p.images = p.plain ? 1 : s->n;
    p.image_rows = p.plain ? s->n * v->h : v->rows;
    p.by_k = threads > 1 && weights >= LARGE;
    p.k = p.by_k ? round_up((s->k / LANES + threads - 1) / threads, 2) * LANES : s->k;
    p.phases_w = v->step;
    p.blocks = taps * s->c / LANES;
    plan_chunk(&p);
    p.whole =
        (p.by_k || threads == 1) && p.rows == p.image_rows && p.segments == p.images;

    /* a line ends with zeros for the last tap; lines do not fall on the same cache sets
     */
    p.line = round_up(p.positions + (v->reach + 1) * v->pitch, 2 * DEPTH) + DEPTH;
    lines = (size_t)(v->step_h * p.phases_w * s->c);
    p.turned = p.plain ? 0 : align64(amx_window_copied(v, p.rows) * sizeof(uint16_t));
    p.pairs = align64(p.turned + lines * (size_t)p.line * sizeof(uint16_t));
    p.sum = p.pairs + align64((size_t)p.positions * (size_t)p.k * sizeof(uint16_t));
    p.bias = p.sum + (p.whole ? 0 : (size_t)p.blocks * (size_t)(p.k / LANES) * tile);
    p.total = p.bias + (size_t)(p.k / LANES) * tile;
    return p;
}

size_t amx_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    return plan_of(s, threads).total * (size_t)threads;
}

/* ---- both sides of the tiles ---- */

/*
 * 16 channels of `count` pixels, `step` elements apart, as lines: to[channel][pixel].
 * Whole vectors of 32 pixels are written; those behind the last one are zeros.
 */
ISA static void turn(const uint16_t *x, ptrdiff_t step, int count, uint16_t *to,
                     ptrdiff_t line)
{
    const __m512i even =
        _mm512_set_epi16(62, 60, 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 34, 32,
                         30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_add_epi16(even, _mm512_set1_epi16(1));

    for (int i = 0; i < count; i += DEPTH, x += DEPTH * step, to += DEPTH) {
        __m512i v[LANES];

        for (int j = 0; j < LANES; j++) {
            __m256i low = _mm256_setzero_si256(), high = low;

            if (i + j < count)
                low = _mm256_loadu_si256((const __m256i *)(x + j * step));
            if (i + j + LANES < count)
                high = _mm256_loadu_si256((const __m256i *)(x + (j + LANES) * step));
            v[j] = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        }
        transpose16(v);
        for (int c = 0; c < LANES / 2; c++) {
            uint16_t *at = to + 2 * c * line;

            _mm512_storeu_si512(at, _mm512_permutex2var_epi16(v[c], even, v[c + 8]));
            _mm512_storeu_si512(at + line,
                                _mm512_permutex2var_epi16(v[c], odd, v[c + 8]));
        }
    }
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

INLINE __m512i load_words(const uint16_t *p)
{
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p));
}

/*
 * `channels` of `count` positions, as pairs: to[channel / 16][position / 2][16][2],
 * panels of 16 channels `panel` elements apart.
 */
ISA static void pair_up(struct places *from, int count, int channels, uint16_t *to,
                        ptrdiff_t panel)
{
    for (int i = 0; i < count; i += 2, to += 2 * LANES) {
        const uint16_t *a = next_place(from), *b = next_place(from);

        for (int c = 0; c < channels; c += LANES) {
            __m512i v = a ? load_words(a + c) : _mm512_setzero_si512();

            if (b)
                v = _mm512_or_si512(v, _mm512_slli_epi32(load_words(b + c), 16));
            _mm512_storeu_si512(to + c / LANES * panel, v);
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

/* sum[i][j] of left i and right j; `first`: it begins at zero. */
ISA static void multiply_2x2(const struct blocks *b, float *const sum[4], bool first)
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
ISA static void multiply_4x1(const struct blocks *b, float *const sum[4], bool first)
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

struct mine {
    uint16_t *copy, *turned, *pairs;
    float *sum, *bias;
    int k0, k; /* channels of dy */
};

static struct mine mine_of(const struct grad_job *j, int thread)
{
    const struct plan *p = j->p;
    char *at = j->scratch + (size_t)thread * p->total;
    struct mine m = {
        .copy = (uint16_t *)at,
        .turned = (uint16_t *)(at + p->turned),
        .pairs = (uint16_t *)(at + p->pairs),
        .sum = (float *)(at + p->sum),
        .bias = (float *)(at + p->bias),
        .k = p->k,
    };

    if (p->by_k) {
        m.k0 = thread * p->k;
        m.k = j->s->k - m.k0 < p->k ? j->s->k - m.k0 : p->k;
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

    return m->turned + (ptrdiff_t)(phase * v->c + c) * p->line +
           (ptrdiff_t)(down / v->step_h) * v->pitch + right / p->phases_w;
}

static bool phase_read(const struct plan *p, const struct mine *m, int phase)
{
    ptrdiff_t lo = (ptrdiff_t)phase * p->v.c * p->line;

    for (int t = 0; t < p->v.taps; t++) {
        ptrdiff_t at = line_of(p, m, &p->v.tap[t], 0) - m->turned;

        if (at >= lo && at < lo + (ptrdiff_t)p->v.c * p->line)
            return true;
    }
    return false;
}

/* Rows [y, y + rows) of an image: both sides, from position `at` of the chunk on. */
static void prepare(const struct grad_job *j, const struct mine *m, int64_t image, int y,
                    int rows, int at)
{
    const struct conv_shape *s = j->s;
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    const uint16_t *x = j->x + image * s->h * s->w * s->c;
    ptrdiff_t step = amx_window_step(v);
    int count = (p->plain ? rows : amx_window_plane(v, rows)) * v->pitch;
    int end = at + segment(p, rows) < p->positions ? segment(p, rows) : p->positions - at;
    struct places places = {
        .next = j->dy + (image * v->rows + y) * s->wo * s->k + m->k0,
        .rows = rows,
        .cols = s->wo,
        .pitch = v->pitch,
        .step = s->k,
    };

    if (p->plain) {
        x += (ptrdiff_t)y * s->w * s->c;
    } else {
        amx_window_copy(v, x, y, rows, m->copy);
        x = m->copy;
    }
    for (int phase = 0; phase < v->step_h * p->phases_w; phase++) {
        const uint16_t *plane = x + (ptrdiff_t)(phase / p->phases_w) * count * step +
                                (ptrdiff_t)(phase % p->phases_w) * s->c;

        if (phase_read(p, m, phase))
            for (int c = 0; c < s->c; c += LANES)
                turn(plane + c, step, count,
                     m->turned + (ptrdiff_t)(phase * s->c + c) * p->line + at, p->line);
    }
    pair_up(&places, end, m->k, m->pairs + (ptrdiff_t)at * LANES,
            (ptrdiff_t)p->positions * LANES);
}

/* Behind the last segment: zeros, up to a whole multiply and what taps read there. */
static void end_chunk(const struct grad_job *j, const struct mine *m, int end)
{
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    int all = round_up(end, DEPTH);
    struct places none = {0};

    pair_up(&none, all - end, m->k, m->pairs + (ptrdiff_t)end * LANES,
            (ptrdiff_t)p->positions * LANES);
    for (int64_t i = 0; i < (int64_t)v->step_h * p->phases_w * v->c; i++)
        memset(m->turned + i * p->line + end, 0, (size_t)(p->line - end) * 2);
}

/* dw[k][tap][c] = a tile of sums [16 c][16 k], added over `parts` that lie `next` apart.
 */
ISA static void put_tile(const struct grad_job *j, const float *sum, int parts,
                         size_t next, int block, int k)
{
    const struct conv_shape *s = j->s;
    int taps = s->kernel_h * s->kernel_w;
    float *to =
        j->dw + ((ptrdiff_t)k * taps + block % taps) * s->c + block / taps * LANES;
    __m512i v[LANES];

    for (int i = 0; i < LANES; i++) {
        const char *at = (const char *)(sum + (ptrdiff_t)i * LANES);
        __m512 all = _mm512_loadu_ps(at);

        for (int t = 1; t < parts; t++)
            all = _mm512_add_ps(all, _mm512_loadu_ps(at + (size_t)t * next));
        v[i] = (__m512i)all;
    }
    transpose16(v);
    for (int i = 0; i < LANES; i++)
        _mm512_storeu_ps(to + (ptrdiff_t)i * taps * s->c, (__m512)v[i]);
}

/* Everything that the chunk's positions add. */
static void multiply_chunk(const struct grad_job *j, const struct mine *m, int end,
                           bool first)
{
    const struct plan *p = j->p;
    const struct conv_shape *s = j->s;
    int taps = s->kernel_h * s->kernel_w, right = m->k > LANES ? 2 : 1, left = 4 / right;
    float extra[4][TILE] __attribute__((aligned(64))) = {{0}};
    struct blocks b = {.line = p->line, .steps = round_up(end, DEPTH) / DEPTH};

    for (int block = 0; block < p->blocks; block += left) {
        for (int i = 0; i < left; i++) {
            int at = block + i < p->blocks ? block + i : block;

            b.left[i] = line_of(p, m, &p->v.tap[at % taps], at / taps * LANES);
        }
        for (int k = 0; k < m->k; k += right * LANES) {
            float *sum[4];

            for (int i = 0; i < right; i++)
                b.right[i] =
                    m->pairs + (ptrdiff_t)((k / LANES + i) * LANES < m->k ? k / LANES + i
                                                                          : k / LANES) *
                                   p->positions * LANES;
            for (int i = 0; i < 4; i++) {
                int at = block + i / right, kb = k / LANES + i % right;
                bool used = at < p->blocks && kb * LANES < m->k;

                sum[i] = p->whole || !used
                             ? extra[i]
                             : m->sum + ((ptrdiff_t)at * (p->k / LANES) + kb) * TILE;
            }
            if (right > 1)
                multiply_2x2(&b, sum, first);
            else
                multiply_4x1(&b, sum, first);
            for (int i = 0; p->whole && i < 4; i++) {
                int at = block + i / right, kb = k / LANES + i % right;

                if (at < p->blocks && kb * LANES < m->k)
                    put_tile(j, extra[i], 1, 0, at, m->k0 + kb * LANES);
            }
        }
    }
    for (int k = 0; j->db && k < m->k; k += LANES)
        multiply_ones(m->pairs + (ptrdiff_t)(k / LANES) * p->positions * LANES, b.steps,
                      m->bias + (ptrdiff_t)(k / LANES) * TILE, first);
}

static void grad_rows(const struct grad_job *j, const struct mine *m, int64_t lo,
                      int64_t hi)
{
    const struct plan *p = j->p;
    bool first = true;

    while (lo < hi) {
        int end = 0;

        for (int i = 0; i < p->segments && lo < hi; i++) {
            int64_t image = lo / p->image_rows;
            int y = (int)(lo % p->image_rows), rows = p->rows;

            if (rows > p->image_rows - y)
                rows = p->image_rows - y;
            if (rows > hi - lo)
                rows = (int)(hi - lo);
            prepare(j, m, image, y, rows, end);
            end += segment(p, rows);
            lo += rows;
        }
        end_chunk(j, m, end);
        multiply_chunk(j, m, end, first);
        first = false;
    }
}

ISA static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    const struct plan *p = j->p;
    struct mine m = mine_of(j, thread);
    int64_t all = (int64_t)p->images * p->image_rows, lo = 0, hi = all;

    if (m.k <= 0)
        return;
    if (!p->by_k)
        cpu_part(all, 1, thread, j->dev->threads, &lo, &hi);
    if (lo == hi) { /* no rows: its sums are zeros */
        memset(m.sum, 0, p->total - p->sum);
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
    int parts = p->by_k ? 1 : j->dev->threads;

    for (int k = (int)lo; k < hi; k += LANES) {
        struct mine m = mine_of(j, p->by_k ? k / p->k : 0);
        int kb = (k - m.k0) / LANES;

        for (int block = 0; !p->whole && block < p->blocks; block++)
            put_tile(j, m.sum + ((ptrdiff_t)block * (p->k / LANES) + kb) * TILE, parts,
                     p->total, block, k);
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
