#include "tests/cpu/conv_data.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/half.h"
#include "base/philox.h"
#include "tests/test.h"

struct buffer buffer_new(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), mapped = (size / page + 3) * page;
    unsigned char *map =
        mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_true(map != MAP_FAILED);
    memset(map, 0xff, mapped - page); /* NaN: shows elements that are not written */
    assert_int_equal(mprotect(map + mapped - page, page, PROT_NONE), 0);
    return (struct buffer){map + mapped - page - size, map, size, mapped};
}

void buffer_free(struct buffer *b)
{
    for (const unsigned char *p = b->map; p < b->p; p++)
        assert_int_equal(*p, 0xff);
    assert_int_equal(munmap(b->map, b->mapped), 0);
}

double conv_get(const void *p, enum dtype t, int64_t i)
{
    return t == DTYPE_F32 ? (double)((const float *)p)[i]
                          : (double)bf16_to_float(((const uint16_t *)p)[i]);
}

static float random_float(int64_t i, uint32_t what)
{
    float v = philox_uniform(philox(1, PHILOX_TEST, what, (uint32_t)i).v[0]) - 0.5f;

    return bf16_to_float(bf16_from_float(v));
}

static void fill(void *p, enum dtype t, int64_t n, uint32_t what)
{
    for (int64_t i = 0; i < n; i++)
        if (t == DTYPE_F32)
            ((float *)p)[i] = random_float(i, what);
        else
            ((uint16_t *)p)[i] = bf16_from_float(random_float(i, what));
}

/* Returns the n elements as doubles, allocated. */
static double *doubles(const struct buffer *b, enum dtype t, int64_t n)
{
    double *v = xcalloc((size_t)n, sizeof(*v));

    for (int64_t i = 0; i < n; i++)
        v[i] = conv_get(b->p, t, i);
    return v;
}

/* One tap of one result: n inputs at x, with weights at w. Returns their sum. */
static double tap(const double *restrict x, const double *restrict w, double dy, int n,
                  double *restrict dx, double *restrict dw)
{
    double sum = 0;

    for (int i = 0; i < n; i++) {
        sum += x[i] * w[i];
        dx[i] += dy * w[i];
        dw[i] += dy * x[i];
    }
    return sum;
}

static void for_all_taps(struct conv_data *d)
{
    const struct conv_shape *s = &d->s;
    double *px = doubles(&d->x, s->type, d->nx), *dy = doubles(&d->y, s->type, d->ny);
    double *w = doubles(&d->w, DTYPE_F32, d->nw);
    int groups = conv_groups(s), in = s->c / groups;

    for (int n = 0; n < s->n; n++)
        for (int oy = 0; oy < s->ho; oy++)
            for (int ox = 0; ox < s->wo; ox++)
                for (int r = 0; r < s->kernel_h; r++)
                    for (int c = 0; c < s->kernel_w; c++) {
                        int y = oy * s->stride_h + r * s->dilation_h - s->pad_h;
                        int x = ox * s->stride_w + c * s->dilation_w - s->pad_w;
                        int64_t xi = (((int64_t)n * s->h + y) * s->w + x) * s->c;
                        int64_t yi = (((int64_t)n * s->ho + oy) * s->wo + ox) * s->k;

                        if (y < 0 || y >= s->h || x < 0 || x >= s->w)
                            continue;
                        for (int k = 0; k < s->k; k++) {
                            int64_t wi =
                                (((int64_t)k * s->kernel_h + r) * s->kernel_w + c) * in;
                            int64_t gi = xi + k / (s->k / groups) * in;

                            d->want_y[yi + k] += tap(px + gi, w + wi, dy[yi + k], in,
                                                     d->want_dx + gi, d->want_dw + wi);
                        }
                    }
    for (int64_t i = 0; i < d->ny; i++)
        d->want_db[i % s->k] += dy[i];
    free(px);
    free(dy);
    free(w);
}

struct conv_data conv_data_new(const struct conv_shape *s)
{
    struct conv_data d = {.s = *s};
    size_t size = dtype_size(s->type);

    d.nx = (int64_t)s->n * s->h * s->w * s->c;
    d.ny = (int64_t)s->n * s->ho * s->wo * s->k;
    d.nw = (int64_t)s->k * s->kernel_h * s->kernel_w * (s->c / conv_groups(s));
    d.x = buffer_new((size_t)d.nx * size);
    d.dx = buffer_new((size_t)d.nx * size);
    d.y = buffer_new((size_t)d.ny * size);
    d.mask = buffer_new((size_t)d.nx * size);
    d.w = buffer_new((size_t)d.nw * sizeof(float));
    d.dw = buffer_new((size_t)d.nw * sizeof(float));
    d.db = buffer_new((size_t)s->k * sizeof(float));
    d.bias = buffer_new((size_t)(s->c > s->k ? s->c : s->k) * sizeof(float));
    fill(d.x.p, s->type, d.nx, 1);
    fill(d.y.p, s->type, d.ny, 2);
    fill(d.mask.p, s->type, d.nx, 3);
    for (int64_t i = 0; i < d.nx; i += 5) /* zeros, of both signs */
        memset(d.mask.p + (size_t)i * size, 0, size);
    for (int64_t i = 0; i < d.nx; i += 10)
        d.mask.p[(size_t)(i + 1) * size - 1] = 0x80;
    fill(d.w.p, DTYPE_F32, d.nw, 4);
    fill(d.bias.p, DTYPE_F32, s->c > s->k ? s->c : s->k, 5);
    d.want_y = xcalloc((size_t)d.ny, sizeof(double));
    d.want_dx = xcalloc((size_t)d.nx, sizeof(double));
    d.want_dw = xcalloc((size_t)d.nw, sizeof(double));
    d.want_db = xcalloc((size_t)s->k, sizeof(double));
    for_all_taps(&d);
    return d;
}

void conv_data_free(struct conv_data *d)
{
    struct buffer *all[] = {&d->x,    &d->y,  &d->mask, &d->w,
                            &d->bias, &d->dx, &d->dw,   &d->db};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        buffer_free(all[i]);
    free(d->want_y);
    free(d->want_dx);
    free(d->want_dw);
    free(d->want_db);
}
