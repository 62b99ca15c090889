/* Shared by the batch norm kernels. */
#include "cpu/batchnorm.h"

#include <string.h>

#include "ops/control.h"
#include "ops/dropout.h"
#include "ops/dropout_formula.h"

/* Workspace: two fp64 and three fp32 tables per thread, then the shared tables. */
size_t batchnorm_space(const struct rows *r, const struct device *dev)
{
    size_t width = (size_t)r->width;

    return (size_t)dev->threads * width * (2 * sizeof(double) + 3 * sizeof(float)) +
           BATCHNORM_TABLES * width * sizeof(float);
}

size_t batchnorm_shared(const struct rows *r)
{
    return (2 * (size_t)r->channels * sizeof(double) + 63) / 64 * 64;
}

struct batchnorm_tables batchnorm_tables(void *space, const struct rows *r,
                                         const struct device *dev)
{
    struct batchnorm_tables t;
    int64_t width = r->width, all = dev->threads * width;

    t.total = space;
    t.total2 = t.total + all;
    t.sum = (float *)(t.total2 + all);
    t.sum2 = t.sum + all;
    t.guess = t.sum2 + all;
    for (int i = 0; i < BATCHNORM_TABLES; i++)
        t.table[i] = t.guess + all + i * width;
    return t;
}

void batchnorm_tables_zero(const struct batchnorm_tables *t, const struct rows *r,
                           int thread)
{
    size_t width = (size_t)r->width;

    memset(t->total + (size_t)thread * width, 0, width * sizeof(double));
    memset(t->total2 + (size_t)thread * width, 0, width * sizeof(double));
    memset(t->sum + (size_t)thread * width, 0, width * sizeof(float));
    memset(t->sum2 + (size_t)thread * width, 0, width * sizeof(float));
}

struct samples samples_claim(struct region *r, struct node *drop, const struct tensor *t)
{
    struct samples s = {.n = 1, .len = tensor_len(t)};

    if (!drop)
        return s;
    region_claim(r, drop);
    s.drop = drop->attrs;
    s.control = region_read(r, drop->in[DROPOUT_CONTROL]);
    s.n = t->dim[IMAGE_N];
    s.channels = t->dim[IMAGE_C];
    s.len /= s.n;
    return s;
}

size_t samples_space(const struct samples *s, const struct rows *r)
{
    return (size_t)(s->n * r->width) * sizeof(float);
}

float samples_factor(const struct samples *s, const struct step *step, int64_t sample,
                     int64_t channel)
{
    const struct control *c;
    int64_t number;

    if (!s->drop)
        return 1;
    c = step->in[s->control];
    number = share_image(s->drop->share, sample) * s->channels + channel;
    return dropout2d_factor(c->seed, (uint64_t)c->micro, (uint32_t)s->drop->salt,
                            (uint64_t)number, s->drop->rate);
}

struct piece samples_first(const struct samples *s, const struct rows *r, int64_t lo,
                           int64_t hi)
{
    struct piece p = {.sample = lo / s->len, .first = lo};
    int64_t end = (p.sample + 1) * s->len;

    end = end < hi ? end : hi;
    p.n = end - lo < r->chunk ? end - lo : r->chunk;
    return p;
}

struct piece samples_last(const struct samples *s, const struct rows *r, int64_t lo,
                          int64_t hi)
{
    struct piece p = {.sample = (hi - 1) / s->len};
    int64_t begin = p.sample * s->len;

    if (hi <= lo)
        return p;
    begin = begin > lo ? begin : lo;
    p.first = rows_last_chunk(r, begin, hi);
    p.n = hi - p.first;
    return p;
}
