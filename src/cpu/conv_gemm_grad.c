/* The weight gradient: sums of [k][column of the left matrix], over results. */
#include <string.h>

#include "cpu/conv_gemm.h"
#include "cpu/conv_share.h"

enum {
    ROWS = 192, /* results at a time */
    /* floats of a panel, an odd number of lines */
    LEFT = ROWS * GEMM_LEFT + 16,
    RIGHT = ROWS * GEMM_RIGHT + 16,
};

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    struct conv_window v;
    struct conv_share share;
    const float *x, *dy;
    float *dw, *scratch;
};

static struct grad_job job_of(const struct device *dev, const struct conv_shape *s,
                              int threads)
{
    struct grad_job j = {.dev = dev, .s = s, .v = conv_window_forward(s, 1)};
    size_t sums = (size_t)gemm_depth(&j.v) * (size_t)s->k;

    j.share = conv_share_of(s->k, gemm_depth(&j.v), sums * sizeof(float), threads);
    return j;
}

/* Columns of the left matrix that are copied at a time. */
static int copied_columns(const struct grad_job *j)
{
    return at_most(j->share.cols, GEMM_DEPTH);
}

/* A thread's scratch: copies of both sides, then its own sums. */
static size_t copy_floats(const struct grad_job *j)
{
    return (size_t)(copied_columns(j) / GEMM_RIGHT) * RIGHT +
           (size_t)(j->share.rows / GEMM_LEFT) * LEFT;
}

static size_t thread_floats(const struct grad_job *j)
{
    size_t sums = (size_t)j->share.rows * (size_t)j->share.cols;

    return copy_floats(j) + (j->share.own ? sums : 0);
}

static float *sums_of(const struct grad_job *j, int thread)
{
    return j->share.own ? j->scratch + (size_t)thread * thread_floats(j) + copy_floats(j)
                        : j->dw;
}

/* What results [at, at + n) add to a thread's sums. */
static void add_rows(const struct grad_job *j, const struct conv_part *part, int64_t at,
                     int n, float *copy, float *sums, bool add)
{
    const struct conv_shape *s = j->s;
    int depth = gemm_depth(&j->v), chunk = copied_columns(j);
    float *left = copy + (ptrdiff_t)(chunk / GEMM_RIGHT) * RIGHT;

    for (int i = 0; i < n; i++)
        j->dev->loops->gemm_spread(j->dy + (at + i) * s->k + part->row, part->rows,
                                   GEMM_LEFT, left + (ptrdiff_t)i * GEMM_LEFT, LEFT);
    for (int lo = part->col; lo < part->col + part->cols; lo += chunk) {
        int hi = at_most(lo + chunk, part->col + part->cols);
        bool first = lo == part->col; /* what this thread reads whole is fetched, once */
        ptrdiff_t dy = first && part->rows == s->k ? (ptrdiff_t)n * s->k : 0;
        ptrdiff_t x = first && part->cols == depth && gemm_in_place(&j->v)
                          ? (ptrdiff_t)n * s->c
                          : 0;

        gemm_gather(j->dev, &j->v, j->x, at, n, lo, hi, copy, GEMM_RIGHT, RIGHT);
        j->dev->loops->gemm_sums(&(const struct gemm_sums){
            .rows = part->rows,
            .cols = hi - lo,
            .depth = n,
            .a_panel = LEFT,
            .b_panel = RIGHT,
            .y_row = depth,
            .a = left,
            .b = copy,
            .y = sums + (ptrdiff_t)part->row * depth + lo,
            .add = add,
            .ahead = {{j->dy + (at + n) * s->k, dy}, {j->x + (at + n) * s->c, x}},
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
    bool add = false;

    if (j->share.own)
        cpu_part(hi, 1, thread, j->dev->threads, &lo, &hi);
    if (lo == hi) /* no results: its sums are zeros */
        memset(sums, 0, (size_t)part.rows * (size_t)depth * sizeof(float));
    for (; lo < hi && part.rows && part.cols; lo += ROWS, add = true)
        add_rows(j, &part, lo, at_most(hi - lo, ROWS), copy, sums, add);
}

/* Outputs [lo, hi). */
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

    (void)db; /* these loops make none */
    j.x = x;
    j.dy = dy;
    j.dw = dw;
    j.scratch = scratch;
    cpu_parallel(dev, grad_thread, &j);
    if (j.share.own)
        cpu_for(dev, s->k, 1, reduce_part, &j);
}
