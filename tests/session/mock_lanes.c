#include "tests/session/mock_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "tests/test.h"

static bool step(struct device *d, int lane)
{
    struct work *w = &d->lane[lane][d->next[lane]];

    if (d->next[lane] == d->n[lane] || (w->kind == WAIT && w->event->done < w->need))
        return false;
    if (w->kind == COPY)
        memcpy(w->dst, w->src, w->size);
    if (w->kind == COPY && lane == LANE_COPY)
        d->time[lane] += 1.0 / COPIES_A_SECOND;
    if (w->kind == SPEND)
        d->time[lane] += w->seconds;
    if (w->kind == RECORD) {
        w->event->done++;
        w->event->time = d->time[lane];
    }
    d->next[lane]++;
    return true;
}

bool mock_lanes_next(struct device *d)
{
    d->turn++;
    if (d->turn / 7 % 2)
        return step(d, LANE_COPY) || step(d, LANE_RUN);
    return step(d, LANE_RUN) || step(d, LANE_COPY);
}

void mock_lanes_add(struct device *d, enum lane lane, struct work w)
{
    assert_true(d->n[lane] < 256);
    d->lane[lane][d->n[lane]++] = w;
}

static void *m_alloc(struct device *d, size_t size)
{
    (void)d;
    return xcalloc(1, size);
}

static void m_free(struct device *d, void *p)
{
    (void)d;
    free(p);
}

static void *m_event(struct device *d)
{
    (void)d;
    return xcalloc(1, sizeof(struct event));
}

static void m_record(struct device *d, enum lane lane, void *event)
{
    struct event *e = event;

    e->recorded++;
    mock_lanes_add(d, lane, (struct work){.kind = RECORD, .event = e});
}

static void m_wait(struct device *d, enum lane lane, void *event)
{
    struct event *e = event;

    mock_lanes_add(d, lane, (struct work){.kind = WAIT, .event = e, .need = e->recorded});
}

static bool m_done(struct device *d, void *event)
{
    const struct event *e = event;

    (void)d;
    return e->done == e->recorded;
}

static void m_await(struct device *d, void *event)
{
    d->awaits++;
    while (!m_done(d, event))
        assert_true(mock_lanes_next(d));
}

static double m_seconds(struct device *d, void *src, void *dst)
{
    assert_true(m_done(d, src));
    assert_true(m_done(d, dst));
    return ((struct event *)dst)->time - ((struct event *)src)->time;
}

static void m_copy(struct device *d, enum lane lane, void *dst, const void *src,
                   size_t size)
{
    mock_lanes_add(d, lane,
                   (struct work){.kind = COPY, .dst = dst, .src = src, .size = size});
}

static void m_sync(struct device *d)
{
    d->syncs++;
    while (mock_lanes_next(d))
        ;
}

static const struct backend_async lanes = {
    .host_alloc = m_alloc,
    .host_free = m_free,
    .event_new = m_event,
    .event_free = m_free,
    .seconds = m_seconds,
    .record = m_record,
    .wait = m_wait,
    .done = m_done,
    .await = m_await,
    .copy_in = m_copy,
    .copy_out = m_copy,
    .copy = m_copy,
};
const struct backend mock_lanes = {
    .alloc = m_alloc, .free = m_free, .sync = m_sync, .async = &lanes};
