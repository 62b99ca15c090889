/* The weight gradient: sums of [plane][k][c], over tiles. */
#include "cpu/conv/share.h"
#include "cpu/conv/winograd.h"

struct grad_job {
    const struct device *dev;
    const struct conv_shape *s;
    struct winograd_tiles w;
    struct conv_share share;
    const void *x, *dy;
    float *dw, *db, *scratch;
};

/* Planes of a block: [channel / width][tile][width] */
static struct winograd_planes panel_planes(const struct winograd_tiles *w, int channels,
                                           int width, float *ptr)
{
    int64_t panel = odd_lines(round_up(w->block * width, GEMM_RIGHT));

    return (struct winograd_planes){ptr, channels / width * panel, panel, width};
}

/* A thread's part of the sums, rows k and columns c, and its scratch. */
struct thread_data {
    struct conv_part part;
    struct winograd_planes x, dy;
    float *sums, *bias;
};

/* Scratch floats per thread; the same for all. */
static size_t thread_floats(const struct grad_job *j)
{
    const struct conv_share *h = &j->share;

    return (size_t)j->w.planes *
               ((size_t)panel_planes(&j->w, h->cols, GEMM_RIGHT, NULL).plane +
                (size_t)panel_planes(&j->w, h->rows, GEMM_LEFT, NULL).plane +
                (size_t)h->rows * (size_t)h->cols) +
           (size_t)h->rows;
}

static struct thread_data thread_data_of(const struct grad_job *j, int thread)
{
    float *ptr = j->scratch + (size_t)thread * thread_floats(j);
    struct thread_data m = {.part = conv_share_part(&j->share, j->s->k, j->s->c, thread)};

    m.x = panel_planes(&j->w, m.part.cols, GEMM_RIGHT, ptr);
    m.dy = panel_planes(&j->w, m.part.rows, GEMM_LEFT, ptr + j->w.planes * m.x.plane);
    m.sums = m.dy.data + j->w.planes * m.dy.plane;
    m.bias = m.sums + (ptrdiff_t)j->w.planes * m.part.rows * m.part.cols;
    return m;
}

static void multiply(const struct grad_job *j, const struct thread_data *m, int64_t lo,
                     int n, bool add)
{
    const struct conv_shape *s = j->s;

    for (int p = 0; p < j->w.planes; p++)
        j->dev->loops->conv.gemm_sums(&(const struct gemm_sums){
            .rows = m->part.rows,
            .cols = m->part.cols,
            .depth = n,
            .a_panel = m->dy.panel,
            .b_panel = m->x.panel,
            .y_row = m->part.cols,
            .a = m->dy.data + p * m->dy.plane,
            .b = m->x.data + p * m->x.plane,
            .y = m->sums + (ptrdiff_t)p * m->part.rows * m->part.cols,
            .add = add,
            .prefetch = {winograd_prefetch(s, &j->w, j->x, s->c, lo + n, n, p),
                         winograd_prefetch(s, &j->w, j->dy, s->k, lo + n, n, p)},
        });
}

static void grad_thread(void *arg, int thread)
{
    const struct grad_job *j = arg;
    const struct conv_shape *s = j->s;
    struct thread_data m = thread_data_of(j, thread);
    ptrdiff_t sums = (ptrdiff_t)j->w.planes * m.part.rows * m.part.cols;
    const void *x = cpu_at(j->x, s->type, m.part.col),
               *dy = cpu_at(j->dy, s->type, m.part.row);
    int64_t lo = 0, hi = j->w.total;
    bool add = false;

    if (j->share.by_result)
        cpu_part(j->w.total, 1, thread, j->dev->threads, &lo, &hi);
    for (ptrdiff_t i = 0; lo == hi && i < sums; i++)
        m.sums[i] = 0;
    for (int i = 0; i < m.part.rows; i++)
        m.bias[i] = 0;
    for (; lo < hi && sums; lo += j->w.block, add = true) {
        int n = min_int(hi - lo, j->w.block);

        winograd_block(j->dev, WINOGRAD_X, s, &j->w, x, s->c, m.part.cols, lo, n, &m.x);
        winograd_block(j->dev, WINOGRAD_DY, s, &j->w, dy, s->k, m.part.rows, lo, n,
                       &m.dy);
        multiply(j, &m, lo, n, add);
        if (j->db && m.part.col == 0)
            winograd_bias(j->dev, s, &j->w, dy, m.part.rows, lo, n, m.bias);
    }
}

/* Writes dw of output k from the sums of one thread, or of all. */
static void put_row(const struct grad_job *j, const struct thread_data *m, int k)
{
    const struct conv_part *part = &m->part;
    const void *src[WINOGRAD_PLANES];
    void *dst[WINOGRAD_TAPS];

    for (int p = 0; p < j->w.planes; p++) {
        float *sum = m->sums + ((ptrdiff_t)p * part->rows + k - part->row) * part->cols;

        for (int t = 1; j->share.by_result && t < j->dev->threads; t++)
            j->dev->loops->accumulate(sum, sum + (size_t)t * thread_floats(j), part->cols,
                                      false);
        src[p] = sum;
    }
    for (int t = 0; t < j->w.taps; t++)
        dst[t] = j->dw + ((ptrdiff_t)k * j->w.taps + t) * j->s->c + part->col;
    j->dev->loops->conv.winograd(WINOGRAD_DW, &(const struct winograd_values){
                                                  .line = j->w.planes < WINOGRAD_PLANES,
                                                  .n = part->cols,
                                                  .src = src,
                                                  .dst = dst,
                                              });
    if (j->db && part->col == 0) {
        const float *sum = m->bias + k - part->row;

        j->db[k] = sum[0];
        for (int t = 1; j->share.by_result && t < j->dev->threads; t++)
            j->db[k] += sum[(size_t)t * thread_floats(j)];
    }
}

/* Reduces outputs [lo, hi). */
static void put_part(void *arg, int64_t lo, int64_t hi)
{
    const struct grad_job *j = arg;

    for (int t = 0; t < (j->share.by_result ? 1 : j->dev->threads); t++) {
        struct thread_data m = thread_data_of(j, t);

        for (int k = (int)lo; m.part.cols && k < hi; k++)
            if (k >= m.part.row && k < m.part.row + m.part.rows)
                put_row(j, &m, k);
    }
}

static struct grad_job job_of(const struct device *dev, const struct conv_shape *s,
                              int threads)
{
    size_t sums = (size_t)winograd_tiles(s, 1).planes * (size_t)s->c * (size_t)s->k;
    struct conv_share share = conv_share_of(s->k, s->c, sums * sizeof(float), threads);

    return (struct grad_job){
        .dev = dev,
        .s = s,
        .w = winograd_tiles(s, share.by_result ? threads : 1),
        .share = share,
    };
}

size_t winograd_weight_grad_scratch(const struct conv_shape *s, int threads)
{
    struct grad_job j = job_of(NULL, s, threads);

    return thread_floats(&j) * (size_t)threads * sizeof(float);
}

/* NOLINTBEGIN(readability-non-const-parameter): dw and db are written through the job */
void winograd_weight_grad(const struct device *dev, const struct conv_shape *s,
                          const void *x, const void *dy, float *dw, float *db,
                          void *scratch)
/* NOLINTEND(readability-non-const-parameter) */
{
    struct grad_job j = job_of(dev, s, dev->threads);

    j.x = x;
    j.dy = dy;
    j.dw = dw;
    j.db = db;
    j.scratch = scratch;
    cpu_parallel(dev, grad_thread, &j);
    cpu_for(dev, s->k, 1, put_part, &j);
}
