/*
 * Checks where a session waits for everything in flight, on the reference device with
 * events that complete only when waited for. Before the wait, programs are not dropped
 * and logits not read; after it, no batch is lent.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "session/parts.h"
#include "tests/session/train_run.h"
#include "tests/test.h"

struct event {
    bool recorded, done;
    struct event *next;
};

static struct event *events;
static const struct backend *ref;

static void *host_alloc(struct device *dev, size_t size)
{
    (void)dev;
    return xcalloc(1, size);
}

static void host_free(struct device *dev, void *p)
{
    (void)dev;
    free(p);
}

static void *event_new(struct device *dev)
{
    struct event *e = host_alloc(dev, sizeof(*e));

    e->next = events;
    return events = e;
}

static void event_free(struct device *dev, void *event)
{
    struct event **e = &events;

    while (*e != event)
        e = &(*e)->next;
    *e = (*e)->next;
    host_free(dev, event);
}

static void record(struct device *dev, enum lane lane, void *event)
{
    (void)dev;
    (void)lane;
    *(struct event *)event =
        (struct event){.recorded = true, .next = ((struct event *)event)->next};
}

static void wait_for(struct device *dev, enum lane lane, void *event)
{
    (void)dev;
    (void)lane;
    (void)event;
}

static bool done(struct device *dev, void *event)
{
    const struct event *e = event;

    (void)dev;
    return e->done || !e->recorded;
}

static void await(struct device *dev, void *event)
{
    (void)dev;
    ((struct event *)event)->done = true;
}

static double seconds(struct device *dev, void *src, void *dst)
{
    (void)dev;
    (void)src;
    (void)dst;
    return 1;
}

static void copy(struct device *dev, enum lane lane, void *dst, const void *src,
                 size_t size)
{
    (void)dev;
    (void)lane;
    memcpy(dst, src, size);
}

static void sync_all(struct device *dev)
{
    for (struct event *e = events; e; e = e->next)
        await(dev, e);
    ref->sync(dev);
}

static const struct backend_async lanes = {
    .host_alloc = host_alloc,
    .host_free = host_free,
    .event_new = event_new,
    .event_free = event_free,
    .record = record,
    .wait = wait_for,
    .done = done,
    .await = await,
    .seconds = seconds,
    .copy_in = copy,
    .copy_out = copy,
    .copy = copy,
};

static int lent;

static void take_back(void *owner, const void *token)
{
    (void)owner;
    (void)token;
    lent--;
}

struct trial {
    struct run r;
    struct backend late;
    uint8_t pixels[BATCH * SIDE * SIDE * 3];
    int32_t labels[BATCH];
    struct lent_batch batch;
};

static void trial_init(struct trial *t)
{
    struct session *s = &t->r.s;

    run_init(&t->r, (const char *[]){"DEVICE", "ref", "AUG.MIXUP", "0.8", NULL});
    ref = s->backend;
    t->late = *ref;
    t->late.async = &lanes;
    t->late.sync = sync_all;
    inflight_drain(&s->inflight);
    inflight_release(&s->inflight);
    inflight_init(&s->inflight, &t->late, s->device, session_slot_size(s));
    make_batch(t->pixels, t->labels, BATCH, 0);
    t->batch = (struct lent_batch){
        .pixels = t->pixels, .labels = t->labels, .release = take_back, .owner = t};
    lent = 2;
}

static int in_flight(void)
{
    int n = 0;

    for (const struct event *e = events; e; e = e->next)
        n += e->recorded && !e->done;
    return n;
}

/* Lends both slots; their updates may still be running. */
static void train(struct trial *t)
{
    for (int i = 0; i < 2; i++)
        (void)session_step_lent(&t->r.s, &t->batch);
    assert_int_equal(lent, 2);
    assert_true(in_flight() > 0);
}

static void test_drain(void **state)
{
    struct trial t;
    struct snapshot n;

    (void)state;
    trial_init(&t);
    train(&t);
    assert_false(session_next_snapshot(&t.r.s, &n));
    session_drain(&t.r.s);
    assert_int_equal(lent, 0);
    for (int i = 0; i < 2; i++) {
        assert_true(session_next_snapshot(&t.r.s, &n));
        assert_int_equal(n.control.step, i + 1);
    }
    run_release(&t.r);
}

/* The program that the updates belong to is dropped. */
static void test_mix(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t);
    session_mix(&t.r.s, true);
    train(&t);
    session_mix(&t.r.s, false);
    assert_int_equal(in_flight(), 0);
    assert_int_equal(lent, 0);
    lent = 2;
    train(&t);
    run_release(&t.r);
}

static void test_logits(void **state)
{
    float logits[BATCH * CLASSES];
    struct trial t;

    (void)state;
    trial_init(&t);
    session_eval_begin(&t.r.s, false);
    session_eval_lent(&t.r.s, &t.batch);
    assert_true(in_flight() > 0);
    session_logits(&t.r.s, logits);
    assert_int_equal(in_flight(), 0);
    assert_int_equal(lent, 1);
    run_release(&t.r);
}

static void test_release(void **state)
{
    struct trial t;

    (void)state;
    trial_init(&t);
    train(&t);
    run_release(&t.r);
    assert_int_equal(lent, 0);
    assert_null(events);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drain),
        cmocka_unit_test(test_mix),
        cmocka_unit_test(test_logits),
        cmocka_unit_test(test_release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
