/*
 * The weight and bias gradients: sums over positions, 32 per multiply.
 *
 * The left side of the tiles is x by channel (`transposed`: a line of positions for each
 * channel and phase of the stride; a tap is an offset along it). The right side is dy in
 * pairs of positions (`pairs`), with zeros where a position has no result. Both are
 * prepared for a chunk of segments: bands of images.
 *
 * Small weights: each thread prepares chunks of its own images and has its own sums,
 * which are added in thread order. Large weights (`shared`): all threads prepare a chunk
 * together, and each multiplies it by its own channels of dy.
 */
#include <string.h>

#include "cpu/conv/amx.h"
#include "cpu/conv/amx_sides.h"
#include "cpu/conv/amx_sums.h"
#include "cpu/conv/amx_tiles.h"
#include "cpu/conv/amx_window.h"

enum {
    LARGE = 1 << 20,    /* bytes of weights from which all threads share the sums */
    SUMS = 1 << 20,     /* bytes of sums that fit a core's cache together with a chunk */
    CACHED = 768 << 10, /* bytes of such a chunk and of the copy it is made from */
    STREAMED = 4000 << 10, /* bytes of x per thread in a chunk, if the sums are larger */
    PAIRS = 768 << 10,     /* bytes of pairs that stay in a core's cache for all of x */
    STEPS = 8,             /* multiplies of 32 positions; their lines fit the L1 cache */
    PREFETCH = 256,        /* prefetch distance of x, in units of 32 elements */
};

/* How threads work; derived from the shape. */
struct plan {
    struct amx_window v;
    bool plain;             /* one tap, and x is read in place */
    bool shared;            /* all threads work on the same chunks */
    bool single;            /* a single chunk, written directly to dw */
    int part;               /* channels of dy per thread */
    int images, image_rows; /* plain: all images count as one */
    int rows;               /* rows of results per segment */
    int segments;           /* per chunk */
    int positions;          /* per chunk, including those that fill the last multiply */
    int phases_w;
    int line;        /* elements per line of transposed x */
    ptrdiff_t panel; /* elements of the pairs of 16 channels */
    int blocks;      /* of 16 rows on the left: channels / 16 x taps */
    int left, right; /* blocks per multiply: four sums */
    int squares;     /* groups of four sums for `left` blocks */
    int together;    /* blocks of dy that all of x is multiplied by before the next */
    /* scratch: `per_thread` bytes per thread (its copy of x, sum, bias), then chunks of `chunk`
     * bytes (transposed, pairs), one per thread or one for all */
    size_t sum, bias, per_thread, pairs, chunk;
};

/* Returns the positions from one segment to the next; even, for pairs. */
static int segment(const struct plan *p, int rows)
{
    return round_up((p->plain ? rows : amx_window_plane(&p->v, rows)) * p->v.pitch, 2);
}

/* Segments are whole images, or bands of an image if those are too large. */
static void plan_chunk(struct plan *p, int k, int threads)
{
    size_t dy = (size_t)k * sizeof(uint16_t);
    size_t x = (size_t)(p->v.conv.step_h * p->phases_w * p->v.reads) * sizeof(uint16_t);
    size_t sums = (size_t)p->blocks * (size_t)p->part * LANES * sizeof(float);
    size_t cached = p->shared ? (size_t)(2 * threads) * CACHED : CACHED;
    size_t copied = p->plain ? 0 : x;
    int max =
        (int)(sums > SUMS ? (size_t)threads * STREAMED / x : cached / (copied + x + dy));

    /* a band should be large compared with the rows it reads above and below */
    max = max > 3 * p->v.reach * p->v.pitch ? max : 3 * p->v.reach * p->v.pitch;

    p->rows = p->image_rows;
    if (p->plain && p->shared) /* each thread prepares a part */
        p->rows = (p->rows + threads - 1) / threads;
    while (p->rows > 1 &&
           segment(p, p->rows) * (p->plain && p->shared ? threads : 1) > max)
        p->rows = (p->rows + 1) / 2;
    p->segments = p->plain && p->shared ? threads : max / segment(p, p->rows);
    if (p->rows < p->image_rows && !p->plain)
        p->segments = 1;
    p->segments =
        min_int(p->segments, p->images * ((p->image_rows + p->rows - 1) / p->rows));
    if (p->segments < 1)
        p->segments = 1;
    p->positions = round_up(p->segments * segment(p, p->rows), DEPTH);
}

static struct plan plan_of(const struct conv_shape *s, int threads)
{
    struct plan p = {.v = amx_window_forward(s)};
    const struct amx_window *v = &p.v;
    size_t weights = (size_t)(v->conv.taps * v->reads) * (size_t)s->k * sizeof(float);
    size_t lines, groups, tile = TILE * sizeof(float);

    p.plain = amx_window_pointwise(v);
    p.images = p.plain ? 1 : s->n;
    p.image_rows = p.plain ? s->n * v->conv.h : v->conv.rows;
    p.shared = threads > 1 && weights > LARGE;
    p.part = s->k;
    if (p.shared)
        p.part = round_up((s->k / LANES + threads - 1) / threads, 2) * LANES;
    p.phases_w = v->span > 1 ? 1 : v->step;
    p.blocks = v->conv.taps * v->reads / LANES;
    p.right = p.part > LANES ? 2 : 1;
    p.left = 4 / p.right;
    p.squares = (p.part / LANES + p.right - 1) / p.right;
    plan_chunk(&p, s->k, threads);
    p.together = PAIRS / (p.positions * LANES * (int)sizeof(uint16_t));
    p.together = p.together > p.right ? p.together / p.right * p.right : p.right;
    p.single = (p.shared || threads == 1) &&
               (int64_t)p.segments * p.rows >= (int64_t)p.images * p.image_rows;

    /*
     * zeros at its end for the last tap; an odd number of 64 bytes, to spread lines over
     * cache sets
     */
    p.line = round_up(p.positions + (v->reach + 1) * v->pitch, 2 * DEPTH) + DEPTH;
    lines = (size_t)(v->conv.step_h * p.phases_w * v->reads);
    p.sum = align64(p.plain ? 0 : amx_window_copied(v, p.rows) * sizeof(uint16_t));
    groups = p.single ? 1 : (size_t)((p.blocks + p.left - 1) / p.left);
    p.bias = p.sum + groups * (size_t)p.squares * 4 * tile;
    p.per_thread = p.bias + (size_t)(p.part / LANES) * tile;
    p.pairs = align64(lines * (size_t)p.line * sizeof(uint16_t));
    p.panel = (ptrdiff_t)p.positions * LANES + DEPTH;
    p.chunk = p.pairs + align64((size_t)p.panel * (size_t)(s->k / LANES) * 2);
    return p;
}

size_t amx_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    struct plan p = plan_of(s, threads);

    return p.per_thread * (size_t)threads + p.chunk * (size_t)(p.shared ? 1 : threads);
}

/* Prefetches elements that are read soon; they may lie outside the tensor. */
INLINE void fetch(const uint16_t *p, int n)
{
    for (int i = 0; i < n; i += DEPTH)
        _mm_prefetch((const char *)(p + i), _MM_HINT_T0);
}

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    const struct plan *p;
    const uint16_t *x, *dy;
    float *dw, *db;
    char *scratch;
};

/* The data of a thread. */
struct thread_data {
    int thread;
    uint16_t *copy, *transposed, *pairs;
    float *sum, *bias;
    int k0, k; /* its channels of dy */
};

static struct thread_data thread_data_of(const struct grad_job *j, int thread)
{
    const struct plan *p = j->p;
    char *cursor = j->scratch + (size_t)thread * p->per_thread;
    char *chunk = j->scratch + (size_t)j->dev->threads * p->per_thread +
                  (size_t)(p->shared ? 0 : thread) * p->chunk;
    struct thread_data m = {
        .thread = thread,
        .copy = (uint16_t *)cursor,
        .transposed = (uint16_t *)chunk,
        .pairs = (uint16_t *)(chunk + p->pairs),
        .sum = (float *)(cursor + p->sum),
        .bias = (float *)(cursor + p->bias),
        .k = p->part,
    };

    if (p->shared) {
        m.k0 = thread * p->part;
        m.k = min_int(p->part, j->s->k - m.k0);
    }
    return m;
}

/* Returns the line of positions that a tap reads of channel c. */
static const uint16_t *line_of(const struct plan *p, const struct thread_data *m,
                               const struct conv_tap *t, int c)
{
    const struct amx_window *v = &p->v;
    int down = t->y - v->top, right = v->column == 1 ? t->x - v->left : 0;
    int phase = down % v->conv.step_h * p->phases_w + right % p->phases_w;

    return m->transposed + (ptrdiff_t)(phase * v->reads + c) * p->line +
           (ptrdiff_t)(down / v->conv.step_h) * v->pitch + right / p->phases_w;
}

static bool phase_read(const struct plan *p, const struct thread_data *m, int phase)
{
    ptrdiff_t lo = (ptrdiff_t)phase * p->v.reads * p->line;

    for (int t = 0; t < p->v.conv.taps; t++) {
        ptrdiff_t pos = line_of(p, m, &p->v.conv.tap[t], 0) - m->transposed;

        if (pos >= lo && pos < lo + (ptrdiff_t)p->v.reads * p->line)
            return true;
    }
    return false;
}

/* Transposes x into lines from position `pos` of the chunk on; reads `count` positions at
 * `src`. */
ISA static void transpose_all(const struct grad_job *j, const struct thread_data *m,
                              const uint16_t *src, int count, int pos)
{
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    ptrdiff_t step = amx_window_step(v);
    int wide = depth_of(v->reads),
        prefetch = DEPTH * (v->conv.c < PREFETCH ? PREFETCH / v->conv.c : 1);

    for (int phase = 0; phase < v->conv.step_h * p->phases_w; phase++) {
        const uint16_t *plane = src + (ptrdiff_t)(phase / p->phases_w) * count * step +
                                (ptrdiff_t)(phase % p->phases_w) * v->conv.c;

        if (!phase_read(p, m, phase))
            continue;
        for (int i = 0; i < count; i += DEPTH) /* memory in order */
            for (int c = 0; c < v->reads; c += wide) {
                const uint16_t *at_pixel = plane + i * step + c;

                if (p->plain)
                    fetch(plane + (i + prefetch) * step + c * DEPTH, wide * DEPTH);
                amx_transpose(at_pixel, step, count - i, wide,
                              m->transposed +
                                  (ptrdiff_t)(phase * v->reads + c) * p->line + pos + i,
                              p->line);
            }
    }
}

/* Prepares both sides for rows [y, y + rows) of an image, from position `pos` of the chunk
 * on. */
static void prepare(const struct grad_job *j, const struct thread_data *m, int64_t image,
                    int y, int rows, int pos)
{
    const struct conv_shape *s = j->s;
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    const uint16_t *x = j->x + image * s->h * s->w * s->c;
    struct amx_places places = {
        .next = j->dy + (image * v->conv.rows + y) * s->wo * s->k,
        .rows = rows,
        .cols = s->wo,
        .pitch = v->pitch,
        .step = s->k,
    };

    if (p->plain) {
        transpose_all(j, m, x + (ptrdiff_t)y * s->w * s->c, rows * v->pitch, pos);
    } else {
        amx_window_copy(v, x, y, rows, m->copy);
        transpose_all(j, m, m->copy, amx_window_plane(v, rows) * v->pitch, pos);
    }
    amx_pair_up(&places, segment(p, rows), s->k, m->pairs + (ptrdiff_t)pos * LANES,
                p->panel);
}

/* Writes zeros after the last segment, up to a whole multiply and the reach of taps. */
static void end_chunk(const struct grad_job *j, const struct thread_data *m, int end)
{
    const struct plan *p = j->p;
    const struct amx_window *v = &p->v;
    int all = round_up(end, DEPTH), first = p->shared ? m->thread : 0;
    int each = p->shared ? j->dev->threads : 1;
    struct amx_places none = {0};

    if (!first)
        amx_pair_up(&none, all - end, j->s->k, m->pairs + (ptrdiff_t)end * LANES,
                    p->panel);
    for (int64_t i = first; i < (int64_t)v->conv.step_h * p->phases_w * v->reads;
         i += each)
        memset(m->transposed + i * p->line + end, 0, (size_t)(p->line - end) * 2);
}

/* dw[k][tap][c] = a tile of sums, added over `parts` that lie `next` bytes apart. */
static void put_tile(const struct grad_job *j, const float *sum, int parts, size_t next,
                     int block, int k)
{
    struct amx_reach reach = amx_reach(j->s);
    ptrdiff_t row = (ptrdiff_t)reach.taps * reach.values;
    int c = block / reach.taps * LANES;

    amx_put(j->dw + k * row + block % reach.taps * reach.values + c, row,
            min_int(reach.values - c, LANES), sum, parts, next, j->p->shared);
}

/* Returns a tile of the thread's sums, given its positions on both sides. */
static float *sum_at(const struct plan *p, const struct thread_data *m, int block, int kb)
{
    int group = p->single ? 0 : block / p->left;
    ptrdiff_t square = (ptrdiff_t)group * p->squares + kb / p->right;

    return m->sum + (4 * square + block % p->left * p->right + kb % p->right) * TILE;
}

/*
 * Adds the chunk's positions to `left` blocks of rows from `block` on, and to blocks
 * [begin, end) of dy. Takes a few steps
 * at a time, so that the lines stay in the L1 cache for all pairs.
 */
static void multiply_group(const struct grad_job *j, const struct thread_data *m,
                           int block, int begin, int end, int steps, bool first)
{
    const struct plan *p = j->p;
    const uint16_t *pairs = m->pairs + m->k0 / LANES * p->panel, *left[4] = {0};
    struct amx_blocks b = {.line = p->line};

    for (int i = 0; i < p->left; i++) { /* past the last block, use the last again */
        int pos = min_int(block + i, p->blocks - 1);

        left[i] = line_of(p, m, &p->v.conv.tap[pos % p->v.conv.taps],
                          pos / p->v.conv.taps * LANES);
    }
    for (int lo = 0; lo < steps; lo += STEPS) {
        b.steps = min_int(STEPS, steps - lo);
        for (int i = 0; i < p->left; i++)
            b.left[i] = left[i] + (ptrdiff_t)lo * DEPTH;
        for (int kb = begin; kb < end; kb += p->right) {
            float(*sum)[TILE] = (float(*)[TILE])sum_at(p, m, block, kb);

            for (int i = 0; i < p->right; i++)
                b.right[i] = pairs + min_int(kb + i, m->k / LANES - 1) * p->panel +
                             (ptrdiff_t)lo * DEPTH * LANES;
            (p->right > 1 ? amx_multiply_2x2 : amx_multiply_4x1)(&b, sum, first && !lo);
        }
    }
}

/* Adds all positions of the chunk. */
static void multiply_chunk(const struct grad_job *j, const struct thread_data *m, int end,
                           bool first)
{
    const struct plan *p = j->p;
    int steps = round_up(end, DEPTH) / DEPTH, blocks = m->k / LANES;

    for (int lo = 0, hi; lo < blocks; lo = hi) {
        hi = min_int(lo + p->together, blocks);
        for (int block = 0; block < p->blocks; block += p->left) {
            multiply_group(j, m, block, lo, hi, steps, first);
            for (int kb = lo; p->single && kb < hi; kb++) /* adjacent lines */
                for (int i = block; i < block + p->left && i < p->blocks; i++)
                    put_tile(j, sum_at(p, m, i, kb), 1, 0, i, m->k0 + kb * LANES);
        }
    }
    for (int kb = 0; j->db && kb * LANES < m->k; kb++)
        amx_multiply_ones(m->pairs + (m->k0 / LANES + kb) * p->panel, steps,
                          m->bias + (ptrdiff_t)kb * TILE, first);
}

/* Sums rows [lo, hi) of the results of all images, chunk by chunk. */
static void grad_rows(const struct grad_job *j, const struct thread_data *m, int64_t lo,
                      int64_t hi)
{
    const struct plan *p = j->p;
    bool first = true;

    while (lo < hi) {
        int end = 0;

        for (int i = 0; i < p->segments && lo < hi; i++) {
            int64_t image = lo / p->image_rows;
            int y = (int)(lo % p->image_rows);
            int rows = min_int(p->rows, p->image_rows - y);

            rows = rows < hi - lo ? rows : (int)(hi - lo);
            if (!p->shared || i % j->dev->threads == m->thread)
                prepare(j, m, image, y, rows, end);
            end += segment(p, rows);
            lo += rows;
        }
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
    struct thread_data m = thread_data_of(j, thread);
    int64_t all = (int64_t)p->images * p->image_rows, lo = 0, hi = all;

    if (!p->shared)
        cpu_part(all, 1, thread, j->dev->threads, &lo, &hi);
    if (lo == hi) { /* no rows: the sums are zero */
        memset(m.sum, 0, p->per_thread - p->sum);
        return;
    }
    tiles_begin(DEPTH);
    grad_rows(j, &m, lo, hi);
    tiles_end();
    if (p->shared)
        _mm_sfence(); /* completes amx_put's stores, which other threads may read */
}

/* Reduces channels [lo, hi) of dy. */
static void reduce_part(void *arg, int64_t lo, int64_t hi)
{
    const struct grad_job *j = arg;
    const struct plan *p = j->p;
    int parts = p->shared ? 1 : j->dev->threads;

    for (int k = (int)lo; k < hi; k += LANES) {
        struct thread_data m = thread_data_of(j, p->shared ? k / p->part : 0);
        int kb = (k - m.k0) / LANES;

        for (int block = 0; !p->single && block < p->blocks; block++)
            put_tile(j, sum_at(p, &m, block, kb), parts, p->per_thread, block, k);
        for (int i = 0; j->db && i < LANES; i++) {
            const char *cursor = (const char *)(m.bias + (ptrdiff_t)kb * TILE + i);

            j->db[k + i] = 0;
            for (int t = 0; t < parts; t++)
                j->db[k + i] += *(const float *)(cursor + (size_t)t * p->per_thread);
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
    if (!p.single || db)
        cpu_for(dev, s->k, LANES, reduce_part, &j);
}
