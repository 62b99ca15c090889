/*
 * The weight gradient: sums over results of [k][column of the im2col matrix], one result
 * at a time in fp32, two in pairs of bf16.
 */
#include <string.h>

#include "cpu/conv/gemm.h"
#include "cpu/conv/share.h"

/*
 * Results, or pairs of them, at a time. With few, the copies of both sides fit the cache;
 * with many, the sums are loaded and stored less often, which matters if they do not fit.
 */
enum { STEPS = 128, STEPS_FEW = 96, STEPS_MANY = 256, LARGE = 1 << 20 /* bytes */ };

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    struct conv_window v;
    struct conv_share share;
    enum gemm_words words;
    int steps;
    int64_t left, right; /* words of a panel, an odd number of lines */
    const void *x, *dy;
    float *dw, *scratch;
};

static struct grad_job job_of(const struct device *dev, const struct conv_shape *s,
                              int threads)
{
    struct grad_job j = {
        .dev = dev,
        .s = s,
        .v = conv_window_forward(s, 1),
        .words = gemm_words_of(s),
    };
    size_t sums = (size_t)gemm_depth(&j.v) * (size_t)s->k * sizeof(float);

    j.share = conv_share_of(s->k, gemm_depth(&j.v), sums, threads);
    sums = (size_t)j.share.rows * (size_t)j.share.cols * sizeof(float);
    j.steps = j.words != GEMM_PAIRS ? STEPS : sums <= LARGE ? STEPS_FEW : STEPS_MANY;
    j.left = j.steps * GEMM_LEFT + 16;
    j.right = j.steps * GEMM_RIGHT + 16;
    return j;
}

/* Columns of the im2col matrix copied at a time. */
static int copied_columns(const struct grad_job *j)
{
    return min_int(j->share.cols, GEMM_DEPTH);
}

/* A thread's scratch: copies of both sides, then its own sums. */
static size_t copy_floats(const struct grad_job *j)
{
    return (size_t)(copied_columns(j) / GEMM_RIGHT * j->right +
                    j->share.rows / GEMM_LEFT * j->left);
}

static size_t thread_floats(const struct grad_job *j)
{
    size_t sums = (size_t)j->share.rows * (size_t)j->share.cols;

    return copy_floats(j) + (j->share.by_result ? sums : 0);
}

static float *sums_of(const struct grad_job *j, int thread)
{
    return j->share.by_result
               ? j->scratch + (size_t)thread * thread_floats(j) + copy_floats(j)
               : j->dw;
}

/*
 * Copies n results, `taken` of their `channels` each, as one side in panels of `width`.
 */
static void copy_side(const struct grad_job *j, const void *src, ptrdiff_t channels,
                      int n, int taken, int width, float *dst, int64_t panel)
{
    const uint16_t *half = src;
    const float *row = src;
    bool pairs = j->words == GEMM_PAIRS, widen = j->words == GEMM_WIDENED;

    for (int i = 0; i < n && pairs; i += 2, half += 2 * channels, dst += width)
        j->dev->loops->conv.gemm_pairs(half, i + 1 < n ? half + channels : NULL, taken,
                                       width, dst, panel);
    for (int i = 0; i < n && widen; i++, half += channels, dst += width)
        j->dev->loops->conv.gemm_widen(half, taken, width, dst, panel);
    for (int i = 0; i < n && !pairs && !widen; i++, row += channels, dst += width)
        j->dev->loops->conv.gemm_spread(row, taken, width, dst, panel);
}

/* Returns channel `first` of result `pos`. */
static const void *result_at(const struct grad_job *j, const void *p, int64_t pos,
                             int channels, int first)
{
    return (const char *)p + (pos * channels + first) * (ptrdiff_t)dtype_size(j->s->type);
}

/* Copies columns [lo, hi) of the im2col matrix for results [at, at + n). */
static void copy_x(const struct grad_job *j, int64_t pos, int n, int lo, int hi,
                   float *dst)
{
    const struct conv_window *v = &j->v;

    if (gemm_in_place(v))
        copy_side(j, result_at(j, j->x, pos, v->c, lo), v->c, n, hi - lo, GEMM_RIGHT, dst,
                  j->right);
    else if (j->words == GEMM_PAIRS)
        gemm_gather_pairs(j->dev, v, j->x, pos, n, lo, hi, dst, GEMM_RIGHT, j->right);
    else
        gemm_gather(j->dev, v, j->x, j->words == GEMM_WIDENED, pos, n, lo, hi, dst,
                    GEMM_RIGHT, j->right);
}

/* Prefetches `channels` channels of the n results after the first `pos`. */
static struct gemm_prefetch prefetch_of(const struct grad_job *j, const void *p,
                                        int64_t pos, int n, int channels)
{
    return (struct gemm_prefetch){
        .start = result_at(j, p, pos, channels, 0),
        .bytes = (ptrdiff_t)n * channels * (ptrdiff_t)dtype_size(j->s->type),
    };
}

/* Adds results [at, at + n) to a thread's sums. */
static void add_results(const struct grad_job *j, const struct conv_part *part,
                        int64_t pos, int n, float *copy, float *sums, bool add)
{
    const struct conv_shape *s = j->s;
    int depth = gemm_depth(&j->v), chunk = copied_columns(j);
    float *left = copy + chunk / GEMM_RIGHT * j->right;

    copy_side(j, result_at(j, j->dy, pos, s->k, part->row), s->k, n, part->rows,
              GEMM_LEFT, left, j->left);
    for (int lo = part->col; lo < part->col + part->cols; lo += chunk) {
        int hi = min_int(lo + chunk, part->col + part->cols);
        /* data read as a whole by this thread is prefetched once */
        bool first = lo == part->col;
        bool dy = first && part->rows == s->k;
        bool x = first && part->cols == depth && gemm_in_place(&j->v);

        copy_x(j, pos, n, lo, hi, copy);
        j->dev->loops->conv.gemm_sums(&(const struct gemm_sums){
            .rows = part->rows,
            .cols = hi - lo,
            .depth = j->words == GEMM_PAIRS ? (n + 1) / 2 : n,
            .a_panel = j->left,
            .b_panel = j->right,
            .y_row = depth,
            .a = left,
            .b = copy,
            .y = sums + (ptrdiff_t)part->row * depth + lo,
            .add = add,
            .pairs = j->words == GEMM_PAIRS,
            .prefetch = {prefetch_of(j, j->dy, pos + n, dy ? n : 0, s->k),
                         prefetch_of(j, j->x, pos + n, x ? n : 0, s->c)},
        });
    }
}

static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    int depth = gemm_depth(&j->v);
    struct conv_part part = conv_share_part(&j->share, j->s->k, depth, thread);
    float *copy = j->scratch + (size_t)thread * thread_floats(j);
    float *sums = sums_of(j, thread);
    int64_t lo = 0, hi = (int64_t)j->v.n * j->v.rows * j->v.cols;
    int n = j->words == GEMM_PAIRS ? 2 * j->steps : j->steps;
    bool add = false;

    if (j->share.by_result)
        cpu_part(hi, 1, thread, j->dev->threads, &lo, &hi);
    if (lo == hi) /* no results: the sums are zero */
        memset(sums, 0, (size_t)part.rows * (size_t)depth * sizeof(float));
    for (; lo < hi && part.rows && part.cols; lo += n, add = true)
        add_results(j, &part, lo, min_int(hi - lo, n), copy, sums, add);
}

/* Reduces outputs [lo, hi). */
static void reduce_part(void *arg, int64_t lo, int64_t hi)
{
    const struct grad_job *j = arg;
    ptrdiff_t depth = gemm_depth(&j->v);

    for (int t = 0; t < j->dev->threads; t++)
        j->dev->loops->accumulate(j->dw + lo * depth, sums_of(j, t) + lo * depth,
                                  (hi - lo) * depth, t == 0);
}

size_t gemm_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    struct grad_job j = job_of(NULL, s, threads);

    return thread_floats(&j) * (size_t)threads * sizeof(float);
}

/* NOLINTBEGIN(readability-non-const-parameter): dw is written through the job */
void gemm_weight_grad(const struct device *dev, const struct conv_shape *s, const void *x,
                      const void *dy, float *dw, float *db, void *scratch)
/* NOLINTEND(readability-non-const-parameter) */
{
    struct grad_job j = job_of(dev, s, dev->threads);

    (void)db; /* these loops do not compute it */
    j.x = x;
    j.dy = dy;
    j.dw = dw;
    j.scratch = scratch;
    cpu_parallel(dev, grad_thread, &j);
    if (j.share.by_result)
        cpu_for(dev, s->k, 1, reduce_part, &j);
}
