/* The narrow bf16 convolutions against plain loops; skipped where the machine has no
 * bf16. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/philox.h"
#include "cpu/conv_narrow.h"

enum { THREADS = 64 };

struct data {
    struct narrow s;
    int ho, wo;
    uint16_t *x, *y, *packed;
    float *w, *dw;
    void *scratch;
};

static uint16_t random_bf16(uint32_t i, uint32_t what)
{
    return bf16_from_float(philox_uniform(philox(1, PHILOX_TEST, what, i).v[0]) - 0.5f);
}

static struct data data_new(struct narrow s)
{
    struct data d = {.s = s, .ho = s.h / s.stride, .wo = s.w / s.stride};
    uint32_t nx = (uint32_t)(s.n * s.h * s.w * s.c),
             ny = (uint32_t)(s.n * d.ho * d.wo * s.k);
    uint32_t nw = (uint32_t)(9 * s.c * s.k);

    d.x = xalloc_aligned(nx * sizeof(uint16_t));
    d.y = xalloc_aligned(ny * sizeof(uint16_t));
    d.packed = xalloc_aligned(narrow_packed_len(&s) * sizeof(uint16_t));
    d.w = xalloc_aligned(nw * sizeof(float));
    d.dw = xalloc_aligned(nw * sizeof(float));
    d.scratch = xalloc_aligned(narrow_scratch(&s, THREADS));
    for (uint32_t i = 0; i < nx; i++)
        d.x[i] = random_bf16(i, 1);
    for (uint32_t i = 0; i < ny; i++)
        d.y[i] = random_bf16(i, 2);
    for (uint32_t i = 0; i < nw; i++)
        d.w[i] = bf16_to_float(random_bf16(i, 3));
    return d;
}

static void data_free(struct data *d)
{
    free(d->x);
    free(d->y);
    free(d->packed);
    free(d->w);
    free(d->dw);
    free(d->scratch);
}

static double x_at(const struct data *d, int n, int y, int x, int c)
{
    const struct narrow *s = &d->s;

    if (y < 0 || x < 0 || y >= s->h || x >= s->w)
        return 0;
    return (double)bf16_to_float(d->x[((n * s->h + y) * s->w + x) * s->c + c]);
}

static double y_at(const struct data *d, int n, int y, int x, int k)
{
    if (y < 0 || x < 0 || y >= d->ho || x >= d->wo)
        return 0;
    return (double)bf16_to_float(d->y[((n * d->ho + y) * d->wo + x) * d->s.k + k]);
}

/* sum of squared differences and of squares; compared once the tensor is complete */
struct error {
    double diff, norm;
    int n;
};

static void error_add(struct error *e, double got, double want)
{
    e->diff += (got - want) * (got - want);
    e->norm += want * want;
    e->n++;
}

static void error_check(const struct error *e, double limit, const char *what)
{
    if (!(e->n > 0 && e->norm > 0 && sqrt(e->diff / e->norm) <= limit))
        fail_msg("%s: relative error %g of %d values", what, sqrt(e->diff / e->norm),
                 e->n);
}

static void check_weight_grad(struct data *d)
{
    const struct narrow *s = &d->s;
    struct error e = {0};

    narrow_weight_grad(s, d->x, d->y, d->dw, d->scratch);
    for (int k = 0; k < s->k; k++)
        for (int tap = 0; tap < 9; tap++)
            for (int c = 0; c < s->c; c++) {
                double sum = 0;

                for (int n = 0; n < s->n; n++)
                    for (int y = 0; y < d->ho; y++)
                        for (int x = 0; x < d->wo; x++)
                            sum += y_at(d, n, y, x, k) *
                                   x_at(d, n, y * s->stride + tap / 3 - 1,
                                        x * s->stride + tap % 3 - 1, c);
                error_add(&e, (double)d->dw[(k * 9 + tap) * s->c + c], sum);
            }
    error_check(&e, 1e-5, "weight gradient");
}

static void check_data_grad(struct data *d)
{
    const struct narrow *s = &d->s;
    struct narrow back = {s->n, s->h, s->w, s->k, s->c, 1};
    uint16_t *dx = xalloc_aligned((size_t)(s->n * s->h * s->w * s->c) * sizeof(*dx));
    void *scratch = xalloc_aligned(narrow_scratch(&back, THREADS));
    struct error e = {0};

    narrow_pack(s, d->packed, d->w, true);
    narrow_forward(&back, d->y, d->packed, dx, scratch);
    for (int i = 0; i < s->n * s->h * s->w * s->c; i++) {
        int c = i % s->c, x = i / s->c % s->w, y = i / s->c / s->w % s->h;
        int n = i / s->c / s->w / s->h;
        double sum = 0;

        for (int tap = 0; tap < 9; tap++)
            for (int k = 0; k < s->k; k++)
                sum += y_at(d, n, y - tap / 3 + 1, x - tap % 3 + 1, k) *
                       (double)d->w[(k * 9 + tap) * s->c + c];
        error_add(&e, (double)bf16_to_float(dx[i]), sum);
    }
    error_check(&e, 4e-3, "data gradient");
    free(scratch);
    free(dx);
}

/* Overwrites d->y, so it comes last. */
static void check_forward(struct data *d)
{
    const struct narrow *s = &d->s;
    struct error e = {0};

    narrow_pack(s, d->packed, d->w, false);
    narrow_forward(s, d->x, d->packed, d->y, d->scratch);
    for (int i = 0; i < s->n * d->ho * d->wo * s->k; i++) {
        int k = i % s->k, x = i / s->k % d->wo, y = i / s->k / d->wo % d->ho;
        int n = i / s->k / d->wo / d->ho;
        double sum = 0;

        for (int tap = 0; tap < 9; tap++)
            for (int c = 0; c < s->c; c++)
                sum += x_at(d, n, y * s->stride + tap / 3 - 1,
                            x * s->stride + tap % 3 - 1, c) *
                       (double)d->w[(k * 9 + tap) * s->c + c];
        error_add(&e, y_at(d, n, y, x, k), sum);
    }
    error_check(&e, 4e-3, "forward");
}

static void equals_plain_loops(void **unused)
{
    static const struct narrow shape[] = {
        {3, 32, 32, 3, 16, 1},  {2, 32, 32, 16, 16, 1}, {2, 32, 32, 16, 32, 2},
        {3, 16, 16, 32, 32, 1}, {2, 16, 16, 32, 64, 2}, {3, 8, 8, 64, 64, 1},
        {1, 48, 16, 16, 64, 1}, {1, 6, 8, 64, 16, 1},
    };

    (void)unused;
    if (!narrow_supported(&shape[0]))
        skip();
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
        struct data d = data_new(shape[i]);

        assert_true(narrow_supported(&shape[i]));
        check_weight_grad(&d);
        if (narrow_data_grad_supported(&shape[i]))
            check_data_grad(&d);
        check_forward(&d);
        data_free(&d);
    }
}

static void declines_other_shapes(void **unused)
{
    static const struct narrow shape[] = {
        {1, 32, 32, 8, 16, 1},  {1, 32, 32, 16, 24, 1}, {1, 30, 30, 16, 16, 1},
        {1, 32, 32, 16, 16, 3}, {1, 7, 8, 64, 64, 1},
    };

    (void)unused;
    for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++)
        assert_false(narrow_supported(&shape[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_plain_loops),
        cmocka_unit_test(declines_other_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
