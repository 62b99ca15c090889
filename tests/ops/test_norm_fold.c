/*
 * Batch norms folded into 1x1 convolutions (ops/norm_fold.h): the formulas in double equal
 * batch norm's, a folded graph trains as the unfolded one, and the precision of variances
 * from fp32 moments stays within a bound, also where the covariance cancels.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/philox.h"
#include "cpu/backend.h"
#include "graph/autodiff.h"
#include "graph/collective.h"
#include "graph/flat.h"
#include "graph/program.h"
#include "ops/activation.h"
#include "ops/add.h"
#include "ops/batchnorm.h"
#include "ops/conv2d.h"
#include "ops/norm_fold.h"
#include "ops/reference.h"
#include "ops/table.h"
#include "tests/test.h"

/* Uniform in [-1, 1). */
static double drawn(int index, int64_t i)
{
    return (double)philox(5, PHILOX_TEST, (uint64_t)index, (uint64_t)i).v[0] /
               2147483648.0 -
           1;
}

/* ---- in double ---- */

enum { M = 60, C = 7, K = 11 };

/* Sums are over rows of h, the output's gradient g is that of batch norm's result. */
struct exact {
    double h[M][C], w[K][C], weight[K], bias[K], g[M][K];
};

struct results {
    double y[M][K], dh[M][C], dw[K][C], dweight[K], dbias[K], mean[K], var[K];
};

static void draw(struct exact *e, double shift)
{
    for (int m = 0; m < M; m++) {
        for (int c = 0; c < C; c++)
            e->h[m][c] = fmax(drawn(1, m * C + c), 0) + shift;
        for (int k = 0; k < K; k++)
            e->g[m][k] = drawn(2, m * K + k);
    }
    for (int k = 0; k < K; k++) {
        for (int c = 0; c < C; c++)
            e->w[k][c] = drawn(3, k * C + c);
        e->weight[k] = k ? drawn(4, k) : 0; /* the first one is 0, as with zero_init */
        e->bias[k] = drawn(5, k);
    }
}

/* Convolution and batch norm as their definitions say. */
static void unfolded(const struct exact *e, double eps, struct results *r)
{
    static double a[M][K], dx[M][K];

    memset(r, 0, sizeof(*r));
    for (int k = 0; k < K; k++) {
        double rstd;

        for (int m = 0; m < M; m++) {
            a[m][k] = 0;
            for (int c = 0; c < C; c++)
                a[m][k] += e->h[m][c] * e->w[k][c];
            r->mean[k] += a[m][k] / M;
        }
        for (int m = 0; m < M; m++)
            r->var[k] += (a[m][k] - r->mean[k]) * (a[m][k] - r->mean[k]) / M;
        rstd = 1 / sqrt(r->var[k] + eps);
        for (int m = 0; m < M; m++) {
            double xhat = (a[m][k] - r->mean[k]) * rstd;

            r->y[m][k] = xhat * e->weight[k] + e->bias[k];
            r->dbias[k] += e->g[m][k];
            r->dweight[k] += e->g[m][k] * xhat;
        }
        for (int m = 0; m < M; m++) {
            double xhat = (a[m][k] - r->mean[k]) * rstd;

            dx[m][k] = e->weight[k] * rstd *
                       (e->g[m][k] - (r->dbias[k] + xhat * r->dweight[k]) / M);
            for (int c = 0; c < C; c++) {
                r->dh[m][c] += dx[m][k] * e->w[k][c];
                r->dw[k][c] += dx[m][k] * e->h[m][c];
            }
        }
    }
}

static void folded(const struct exact *e, double eps, struct results *r)
{
    static double moments[C][C], sum[C], w[K][C], shift[K], product[K][C];
    static double p[K][C], q[K], dgram[C][C], dsum[C];
    struct norm_fold_size s = {K, C, M, eps};
    const double *in[] = {e->w[0], e->weight, e->bias, moments[0], sum};
    double *out[] = {w[0], shift, r->mean, r->var, product[0]};
    const double *back[] = {e->w[0], e->weight,  sum,  r->mean,
                            r->var,  product[0], p[0], q};
    double *grads[] = {r->dw[0], r->dweight, r->dbias, dgram[0], dsum};

    memset(r, 0, sizeof(*r));
    memset(moments, 0, sizeof(moments));
    memset(sum, 0, sizeof(sum));
    memset(p, 0, sizeof(p));
    memset(q, 0, sizeof(q));
    for (int m = 0; m < M; m++)
        for (int i = 0; i < C; i++) {
            sum[i] += e->h[m][i];
            for (int j = 0; j < C; j++)
                moments[i][j] += e->h[m][i] * e->h[m][j];
        }
    norm_fold_forward(&s, in, out);
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++) {
            r->y[m][k] = shift[k];
            q[k] += e->g[m][k];
            for (int c = 0; c < C; c++) {
                r->y[m][k] += e->h[m][c] * w[k][c];
                p[k][c] += e->g[m][k] * e->h[m][c];
            }
        }
    norm_fold_backward(&s, back, grads);
    for (int m = 0; m < M; m++)
        for (int c = 0; c < C; c++) {
            r->dh[m][c] = dsum[c];
            for (int k = 0; k < K; k++)
                r->dh[m][c] += e->g[m][k] * w[k][c];
            for (int j = 0; j < C; j++)
                r->dh[m][c] += e->h[m][j] * (dgram[j][c] + dgram[c][j]);
        }
}

/* Largest difference relative to the largest value. */
static double distance(const double *a, const double *b, int n)
{
    double max = 0, scale = 1e-300;

    for (int i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);

        if (!(d <= max))
            max = d; /* also NaN */
        scale = fmax(scale, fabs(a[i]));
    }
    return max / scale;
}

static void test_exact(void **state)
{
    struct exact *e = xcalloc(1, sizeof(*e));
    struct results *a = xcalloc(1, sizeof(*a)), *b = xcalloc(1, sizeof(*b));

    (void)state;
    draw(e, 0);
    unfolded(e, 1e-5, a);
    folded(e, 1e-5, b);
#define NEAR(what)                                                                       \
    do {                                                                                 \
        double d_ = distance((const double *)a->what, (const double *)b->what,           \
                             (int)(sizeof(a->what) / sizeof(double)));                   \
                                                                                         \
        if (!(d_ < 1e-12))                                                               \
            fail_msg("%s: %g apart", #what, d_);                                         \
    } while (0)
    NEAR(y);
    NEAR(mean);
    NEAR(var);
    NEAR(dh);
    NEAR(dw);
    NEAR(dweight);
    NEAR(dbias);
#undef NEAR
    free(e);
    free(a);
    free(b);
}

/* ---- precision ---- */

/* Runs norm_fold on moments rounded to fp32, as a backend stores them, and returns the
 * largest error of a variance relative to it; *bound is the error that the rounding of the
 * moments explains: 2^-24 (|w|^T |gram| |w| / M + mean^2) / var. */
static double variance_error(double shift, double deviation, double *bound)
{
    struct exact *e = xcalloc(1, sizeof(*e));
    struct results *a = xcalloc(1, sizeof(*a));
    static double moments[C][C], sum[C], w[K][C], shifts[K], mean[K], var[K],
        product[K][C];
    struct norm_fold_size s = {K, C, M, 1e-5};
    double worst = 0;

    *bound = 0;
    draw(e, shift);
    for (int m = 0; m < M; m++)
        for (int c = 0; c < C; c++)
            e->h[m][c] = (double)(float)(shift + (e->h[m][c] - shift) * deviation);
    for (int i = 0; i < C; i++) {
        sum[i] = 0;
        for (int j = 0; j < C; j++)
            moments[i][j] = 0;
    }
    for (int m = 0; m < M; m++)
        for (int i = 0; i < C; i++) {
            sum[i] += e->h[m][i];
            for (int j = 0; j < C; j++)
                moments[i][j] += e->h[m][i] * e->h[m][j];
        }
    for (int i = 0; i < C; i++) {
        sum[i] = (double)(float)sum[i];
        for (int j = 0; j < C; j++)
            moments[i][j] = (double)(float)moments[i][j];
    }
    unfolded(e, 1e-5, a);
    norm_fold_forward(
        &s, (const double *const[]){e->w[0], e->weight, e->bias, moments[0], sum},
        (double *const[]){w[0], shifts, mean, var, product[0]});
    for (int k = 0; k < K; k++) {
        double size = 0;

        for (int i = 0; i < C; i++)
            for (int j = 0; j < C; j++)
                size += fabs(e->w[k][i] * moments[i][j] * e->w[k][j]) / M;
        *bound = fmax(*bound, ldexp(3 * size, -24) / a->var[k]);
        worst = fmax(worst, fabs(var[k] - a->var[k]) / a->var[k]);
        assert_true(isfinite(shifts[k]) && var[k] >= 0);
    }
    free(e);
    free(a);
    return worst;
}

/* Means up to a thousand deviations, and variances down to 1e-13, less than eps. */
static void test_cancellation(void **state)
{
    static const double shift[] = {0, 1, 10, 100, 1000}, deviation[] = {1, 1e-3, 1e-6};
    double bound, error;

    (void)state;
    for (int i = 0; i < 5; i++) {
        error = variance_error(shift[i], 1, &bound);
        if (!(error <= bound))
            fail_msg("mean %g: the variance is off by %g, not by at most %g", shift[i],
                     error, bound);
        print_message("mean %g: variances off by at most %.1e, bound %.1e\n", shift[i],
                      error, bound);
        if (shift[i] <= 1)
            assert_true(error < 1e-5);
    }
    for (int i = 0; i < 3; i++)
        assert_true(variance_error(0, deviation[i], &bound) < 1e-6);
}

/* ---- the graph edit ---- */

enum { IMAGES = 4, SIDE = 6, IN = 8, OUT = 32, RANKS = 2 };

struct trained {
    float y[IMAGES * OUT * SIDE * SIDE], dx[IMAGES * IN * SIDE * SIDE];
    float stats[256], grads[1024];
    int folded;
};

static bool always(void *arg, const struct norm_fold_layer *l)
{
    const struct norm_fold_layer want = {IMAGES * SIDE * SIDE, IN, OUT, DTYPE_F32};

    (void)arg;
    assert_int_equal(l->rows, want.rows);
    assert_int_equal(l->in, want.in);
    assert_int_equal(l->out, want.out);
    return true;
}

static bool part(void *arg, const struct norm_fold_layer *l)
{
    (void)arg;
    return l->rows == IMAGES / RANKS * SIDE * SIDE;
}

/* Values `index` from number `first` on. */
static void fill(const struct backend *b, struct device *dev, struct program *p,
                 const struct tensor *t, int index, int64_t first)
{
    float *v = xcalloc((size_t)tensor_len(t), sizeof(*v));

    for (int64_t i = 0; i < tensor_len(t); i++)
        v[i] = (float)drawn(index, first + i);
    b->copy_in(dev, program_data(p, t), v, tensor_size(t));
    free(v);
}

/* `group`: the processes that share statistics, or NULL; this one has IMAGES / world. */
static void train(const struct backend *backend, bool folds,
                  const struct collective *group, struct trained *r)
{
    struct graph *g = graph_new(&graph_ops_default, true);
    struct builder b = {.g = g};
    struct device *dev = backend->open(&(struct device_options){.threads = 2});
    void *base[MEMORY_COUNT] = {NULL};
    int64_t images = IMAGES / (group ? group->world : 1);
    int64_t in[] = {images, IN, SIDE, SIDE}, out[] = {images, OUT, SIDE, SIDE};
    int64_t rank = group ? group->rank : 0;
    struct tensor *x, *other, *dy, *y;
    struct program *p;

    graph_share_norms(g, group);
    x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4, in);
    other = graph_input(&b, "other", DTYPE_F32, LAYOUT_IMAGE, 4, out);
    dy = graph_input(&b, "dy", DTYPE_F32, LAYOUT_IMAGE, 4, out);

    x->trainable = true;
    y = conv2d(&b, relu(&b, x, "before"), "conv", .out = OUT, .kernel = 1);
    y = relu(&b, add(&b, batchnorm(&b, y, "bn"), other, "add"), "relu");
    graph_flatten(g);
    if (folds)
        r->folded = norm_fold_lower(g, DTYPE_F32, group ? part : always, NULL);
    b.phase = PHASE_BACKWARD;
    autodiff(&b, y, dy);
    graph_output(g, y);
    p = program_compile(g, backend, dev, NULL);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (program_need(p, (enum memory)m))
            base[m] = backend->alloc(dev, program_need(p, (enum memory)m));
    program_bind(p, base);
    fill(backend, dev, p, x, 1, rank * tensor_len(x));
    fill(backend, dev, p, other, 2, rank * tensor_len(y));
    fill(backend, dev, p, dy, 3, rank * tensor_len(y));
    for (int i = 0; i < g->flat->nparam; i++)
        fill(backend, dev, p, g->flat->segment[i].tensor, 10 + i, 0);
    program_run(p);
    assert_true(program_need(p, MEMORY_STATS) <= sizeof(r->stats) &&
                program_need(p, MEMORY_GRADS) <= sizeof(r->grads) * 4);
    backend->copy_out(dev, r->y, program_data(p, y), tensor_size(y));
    backend->copy_out(dev, r->dx, program_data(p, x->grad), tensor_size(x));
    backend->copy_out(dev, r->stats, base[MEMORY_STATS], program_need(p, MEMORY_STATS));
    backend->copy_out(dev, r->grads, base[MEMORY_GRADS], program_need(p, MEMORY_GRADS));
    program_free(p);
    graph_free(g);
    for (int m = 0; m < MEMORY_COUNT; m++)
        if (base[m])
            backend->free(dev, base[m]);
    backend->close(dev);
}

static void assert_near(const char *what, const float *want, const float *got, size_t n)
{
    double scale = 0;

    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs((double)want[i]));
    assert_true(scale > 0);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)want[i] - (double)got[i]) <= 2e-6 * scale))
            fail_msg("%s[%zu]: %.9g, not %.9g", what, i, (double)got[i], (double)want[i]);
}

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static void compare(const struct backend *backend)
{
    struct trained *a = xcalloc(1, sizeof(*a)), *b = xcalloc(1, sizeof(*b));

    train(&backend_ref, false, NULL, a);
    train(backend, true, NULL, b);
    assert_int_equal(b->folded, 1);
    assert_near("y", a->y, b->y, LEN(a->y));
    assert_near("dx", a->dx, b->dx, LEN(a->dx));
    assert_near("statistics", a->stats, b->stats, LEN(a->stats));
    assert_near("gradients", a->grads, b->grads, LEN(a->grads));
    free(a);
    free(b);
}

static void test_reference(void **state)
{
    (void)state;
    compare(&backend_ref);
}

static void test_cpu(void **state)
{
    (void)state;
    compare(&backend_cpu);
}

/* ---- statistics of several processes, which are threads here ---- */

static pthread_barrier_t meeting;
static float table[RANKS][IN * IN];

static void meet_mean(const struct collective *c, float *x, int64_t n)
{
    assert_true(n <= IN * IN);
    memcpy(table[c->rank], x, (size_t)n * sizeof(*x));
    (void)pthread_barrier_wait(&meeting);
    for (int64_t i = 0; i < n; i++)
        x[i] = (table[0][i] + table[1][i]) / RANKS;
    (void)pthread_barrier_wait(&meeting);
}

struct process {
    struct collective group;
    const struct backend *backend;
    struct trained result;
};

static void *run_process(void *arg)
{
    struct process *p = arg;

    train(p->backend, true, &p->group, &p->result);
    return NULL;
}

/* Each process has its part of the images; their gradients add up. */
static void share(const struct backend *backend)
{
    struct trained *whole = xcalloc(1, sizeof(*whole));
    struct process *p = xcalloc(RANKS, sizeof(*p));
    float *grads = p[0].result.grads;
    pthread_t thread[RANKS];

    train(&backend_ref, false, NULL, whole);
    (void)pthread_barrier_init(&meeting, NULL, RANKS);
    for (int r = 0; r < RANKS; r++) {
        p[r].group = (struct collective){.world = RANKS, .rank = r, .mean = meet_mean};
        p[r].backend = backend;
        assert_int_equal(pthread_create(&thread[r], NULL, run_process, &p[r]), 0);
    }
    for (int r = 0; r < RANKS; r++)
        (void)pthread_join(thread[r], NULL);
    for (int r = 0; r < RANKS; r++) {
        const struct trained *t = &p[r].result;
        size_t ny = LEN(t->y) / RANKS, nx = LEN(t->dx) / RANKS;

        assert_int_equal(t->folded, 1);
        assert_near("y", whole->y + (size_t)r * ny, t->y, ny);
        assert_near("dx", whole->dx + (size_t)r * nx, t->dx, nx);
        assert_near("statistics", whole->stats, t->stats, LEN(t->stats));
        for (size_t i = 0; r && i < LEN(t->grads); i++)
            grads[i] += t->grads[i];
    }
    assert_near("gradients", whole->grads, grads, LEN(whole->grads));
    free(whole);
    free(p);
}

static void test_shared(void **state)
{
    (void)state;
    share(&backend_ref);
    share(&backend_cpu);
}

/* Only what ends a residual branch is folded. */
static void test_pattern(void **state)
{
    static const struct {
        struct conv2d_attrs conv;
        bool shared, no_relu, frozen;
        int folded;
    } row[] = {
        {.conv = {.out = OUT, .kernel = 1}, .folded = 1},
        {.conv = {.out = OUT, .kernel = 3, .padding = 1}},
        {.conv = {.out = OUT, .kernel = 1, .bias = 1}},
        {.conv = {.out = OUT, .kernel = 1, .groups = 2}},
        {.conv = {.out = OUT, .kernel = 1, .stride = 2}},
        {.conv = {.out = OUT, .kernel = 1}, .shared = true},
        {.conv = {.out = OUT, .kernel = 1}, .no_relu = true},
        {.conv = {.out = OUT, .kernel = 1}, .frozen = true},
    };
    static const char *const frozen[] = {"bn.*"};

    (void)state;
    for (size_t i = 0; i < LEN(row); i++) {
        struct graph *g = graph_new(&graph_ops_default, true);
        struct builder b = {.g = g};
        struct conv2d_attrs a = row[i].conv;
        struct tensor *x, *y, *other;

        if (row[i].frozen)
            graph_freeze(g, frozen, 1);
        a.layer = "conv";
        x = graph_input(&b, "x", DTYPE_F32, LAYOUT_IMAGE, 4,
                        (int64_t[]){IMAGES, IN, SIDE, SIDE});
        y = conv2d_(&b, x, &a);
        other = graph_input(&b, "other", DTYPE_F32, LAYOUT_IMAGE, 4, y->dim);
        other = add(&b, batchnorm(&b, y, "bn"), row[i].shared ? y : other, "add");
        if (!row[i].no_relu)
            (void)relu(&b, other, "relu");
        graph_flatten(g);
        if (norm_fold_lower(g, DTYPE_F32, always, NULL) != row[i].folded)
            fail_msg("row %zu: folded or not, unlike expected", i);
        graph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact),     cmocka_unit_test(test_cancellation),
        cmocka_unit_test(test_reference), cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_pattern),   cmocka_unit_test(test_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
