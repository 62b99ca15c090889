#include "session/state.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/half.h"
#include "graph/flat.h"
#include "ops/update.h"
#include "session/parts.h"

struct control session_control(const struct session *s)
{
    struct control c;

    s->backend->copy_out(s->device, &c, s->base[MEMORY_CONTROL], sizeof(c));
    return c;
}

void session_set_control(struct session *s, const struct control *c)
{
    s->backend->copy_in(s->device, s->base[MEMORY_CONTROL], c, sizeof(*c));
    s->micro = c->micro;
}

struct metrics session_get_metrics(const struct session *s, const void *src)
{
    struct metrics m;

    s->backend->copy_out(s->device, &m, src, sizeof(m));
    return m;
}

struct metrics session_metrics(const struct session *s)
{
    return session_get_metrics(s, s->base[MEMORY_METRICS]);
}

void session_set_metrics(struct session *s, const struct metrics *m)
{
    s->backend->copy_in(s->device, s->base[MEMORY_METRICS], m, sizeof(*m));
}

/* Returns the shard if this process stores only a share of the moments. */
static const struct shard *shard_of(const struct session *s, enum memory m)
{
    const struct shard *shard = &s->build[SESSION_TRAIN].shard;

    return shard->begin && (m == MEMORY_MOMENT1 || m == MEMORY_MOMENT2) ? shard : NULL;
}

static size_t flat_bytes(const struct flat *f, enum memory m)
{
    bool all = m == MEMORY_WEIGHTS || m == MEMORY_EMA;

    return (size_t)(all ? f->weights_len : f->trained_len) * sizeof(float);
}

size_t session_flat_bytes(const struct session *s, enum memory m)
{
    return flat_bytes(session_device_flat(s), m);
}

void session_copy(const struct session *s, enum memory m, float *dst)
{
    if (m == MEMORY_EMA && s->ema)
        memcpy(dst, s->ema, session_flat_bytes(s, m));
    else
        s->backend->copy_out(s->device, dst, s->base[m], session_flat_bytes(s, m));
}

void session_put(struct session *s, enum memory m, const float *src)
{
    if (m == MEMORY_EMA && s->ema)
        memcpy(s->ema, src, session_flat_bytes(s, m));
    else
        s->backend->copy_in(s->device, s->base[m], src, session_flat_bytes(s, m));
}

/* ---- parameters with shards: graph/flat.h ---- */

static bool has_shards(const struct session *s)
{
    return session_flat(s) != session_device_flat(s);
}

/* Returns the segments of an array. */
static int segments_of(const struct flat *f, enum memory m)
{
    return m == MEMORY_WEIGHTS || m == MEMORY_EMA ? f->nsegment : f->ntrained;
}

/* Returns where the whole array has the tensor of a segment. */
static int64_t whole_offset(const struct flat *whole, const struct segment *g)
{
    for (int i = 0; i < whole->nsegment; i++)
        if (whole->segment[i].tensor->id == g->tensor->id)
            return whole->segment[i].offset;
    BUG("'%s' is in one layout only", g->tensor->name);
}

/* Returns where it has this process's part. */
static int64_t own_offset(const struct flat *whole, const struct segment *g)
{
    return whole_offset(whole, g) + g->tensor->shard * g->len;
}

/* Gets the parts of all processes. */
static void gather(const struct session *s, const struct segment *g, float *dst)
{
    const struct flat *whole = session_flat(s);
    const struct collective *c = s->plan.group;
    int64_t *begin = xcalloc((size_t)c->world + 1, sizeof(*begin));

    for (int r = 0; r <= c->world; r++)
        begin[r] = r * g->len;
    c->gather(c, dst + whole_offset(whole, g), begin);
    free(begin);
}

static void get_whole(const struct session *s, enum memory m, float *dst)
{
    const struct flat *f = session_device_flat(s), *whole = session_flat(s);
    float *local = xmalloc(session_flat_bytes(s, m));

    session_copy(s, m, local);
    memset(dst, 0, flat_bytes(whole, m));
    for (int i = 0; i < segments_of(f, m); i++) {
        const struct segment *g = &f->segment[i];

        memcpy(dst + own_offset(whole, g), local + g->offset,
               (size_t)g->len * sizeof(float));
        if (g->tensor->shards)
            gather(s, g, dst);
    }
    free(local);
}

static void set_whole(struct session *s, enum memory m, const float *src)
{
    const struct flat *f = session_device_flat(s), *whole = session_flat(s);
    float *local = xcalloc(1, session_flat_bytes(s, m));

    for (int i = 0; i < segments_of(f, m); i++) {
        const struct segment *g = &f->segment[i];

        memcpy(local + g->offset, src + own_offset(whole, g),
               (size_t)g->len * sizeof(float));
    }
    session_put(s, m, local);
    free(local);
}

void session_get(const struct session *s, enum memory m, float *dst)
{
    const struct shard *shard = shard_of(s, m);

    if (has_shards(s)) {
        get_whole(s, m, dst);
    } else if (shard) {
        if (shard->len)
            s->backend->copy_out(s->device, dst + shard->first, s->base[m],
                                 (size_t)shard->len * sizeof(float));
        s->plan.group->gather(s->plan.group, dst, shard->begin);
    } else {
        session_copy(s, m, dst);
    }
}

void session_set(struct session *s, enum memory m, const float *src)
{
    const struct shard *shard = shard_of(s, m);

    if (has_shards(s))
        set_whole(s, m, src);
    else if (shard && shard->len)
        s->backend->copy_in(s->device, s->base[m], src + shard->first,
                            (size_t)shard->len * sizeof(float));
    else if (!shard)
        session_put(s, m, src);
}

void session_set_constants(struct session *s, const float *src)
{
    const struct flat *f = session_device_flat(s);

    s->backend->copy_in(s->device, (float *)s->base[MEMORY_WEIGHTS] + f->weights_len, src,
                        (size_t)f->constant_len * sizeof(float));
    session_refresh(s);
}

static void round_weights(struct session *s)
{
    const struct build *b = &s->build[SESSION_TRAIN];
    int round = s->plan.half == DTYPE_F16 ? UPDATE_ROUND_F16 : UPDATE_ROUND_BF16;

    session_copy(s, MEMORY_WEIGHTS, s->host);
    for (int i = 0; i < b->nsegment; i++) {
        const struct update_segment *g = &b->segment[i];

        for (int64_t k = g->offset; g->round && k < g->offset + g->len; k++)
            s->host[k] = update_rounded(s->host[k], round);
    }
    session_put(s, MEMORY_WEIGHTS, s->host);
}

void session_refresh(struct session *s)
{
    if (s->program[SESSION_TRAIN] && plan_rounds(&s->plan))
        round_weights(s);
    /* also refreshes the programs of micro-batches */
    if (s->program[SESSION_TRAIN])
        program_refresh(s->program[SESSION_TRAIN]);
    if (s->program[SESSION_HEAD])
        program_refresh(s->program[SESSION_HEAD]);
}

int session_moments(const struct session *s)
{
    const struct optimizer_groups *g = &s->plan.groups;
    const int *ptr = s->build[SESSION_TRAIN].use;
    int largest = 0;

    for (int i = 0; i < g->nuse; i++) {
        int n = optimizer_moments(g->use[i].optimizer, &g->use[i].h);

        if (n > largest && (!ptr || ptr[i + 1] > ptr[i]))
            largest = n;
    }
    return largest;
}

void session_lend(const struct session *s)
{
    bool shards = has_shards(s);
    int n = session_moments(s);

    if (shards)
        session_get(s, MEMORY_WEIGHTS, s->host);
    if (shards && session_has_ema(s))
        session_get(s, MEMORY_EMA, s->host);
    for (int i = 0; i < n && (shards || s->build[SESSION_TRAIN].shard.begin); i++)
        session_get(s, i ? MEMORY_MOMENT2 : MEMORY_MOMENT1, s->host);
}
