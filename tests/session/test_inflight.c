/*
 * Batches and snapshots in flight, on a device whose two lanes do nothing until waited
 * for: returning a batch or reading a result too early is detected.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "session/inflight.h"
#include "tests/session/mock_lanes.h"
#include "tests/test.h"

enum { PIXELS = 24, LABELS = 8, KEYS = 16, RUNS = 20 };

struct host {
    char pixels[PIXELS], labels[LABELS], keys[KEYS];
    bool lent;
};

static double copy_seconds;

static void copied(void *owner, double seconds)
{
    (void)owner;
    copy_seconds += seconds;
}

static void take_back(void *owner, const void *token)
{
    struct host *h = (struct host *)owner + *(const int *)token;

    assert_true(h->lent);
    h->lent = false;
    memset(h->pixels, 'x', PIXELS); /* the loader refills it immediately */
    memset(h->labels, 'x', LABELS);
    memset(h->keys, 'x', KEYS);
}

static int in_flight(const struct inflight *q)
{
    int n = 0;

    for (int i = 0; i <= INFLIGHT_RUNS; i++)
        n += ((struct event *)q->finished[i])->recorded -
             ((struct event *)q->finished[i])->done;
    return n;
}

enum { SAMPLE = PIXELS + LABELS + KEYS };

static void fill_host(struct host *h, int run)
{
    memset(h->pixels, 'a' + run, PIXELS);
    memset(h->labels, 'A' + run, LABELS);
    memset(h->keys, '0' + run, KEYS);
    h->lent = true;
}

static void check_seen(const char seen[SAMPLE], int run)
{
    for (int k = 0; k < SAMPLE; k++)
        if (seen[k] != (k < PIXELS ? 'a' : k < PIXELS + LABELS ? 'A' : '0') + run)
            fail_msg("run %d read '%c' at %d", run, seen[k], k);
}

/* Snapshots come in order; runs 3, 7, ... leave none. */
static void check_snapshots(struct inflight *q, int *next)
{
    struct snapshot s;

    while (inflight_next(q, &s)) {
        *next += *next % 4 == 3;
        assert_int_equal(s.control.step, ++*next);
    }
}

/* Each "program" copies its input to seen[run] and sets the step. */
static void test_lanes(void **state)
{
    static const int number[RUNS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
                                     10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    struct device d = {0};
    struct host host[RUNS] = {0};
    char input[SAMPLE], seen[RUNS][SAMPLE];
    struct control control[RUNS] = {0}, now = {0};
    struct metrics metrics = {0};
    struct inflight_place dst = {
        .dst = {[BATCH_PIXELS] = input,
                [BATCH_LABELS] = input + PIXELS,
                [BATCH_KEYS] = input + PIXELS + LABELS},
        .size = {[BATCH_PIXELS] = PIXELS, [BATCH_LABELS] = LABELS, [BATCH_KEYS] = KEYS},
    };
    struct inflight q;
    int next = 0, after = 0;

    (void)state;
    inflight_init(&q, &mock_lanes, &d, inflight_slot_size(dst.size));
    for (int i = 0; i < RUNS; i++) {
        struct lent_batch b = {.pixels = host[i].pixels,
                               .labels = host[i].labels,
                               .release = take_back,
                               .owner = host,
                               .token = &number[i],
                               .copied = copied,
                               .keys = host[i].keys};
        int lent = 0;

        fill_host(&host[i], i);
        inflight_room(&q);
        assert_true(in_flight(&q) <= 1);
        after += i >= 2 && in_flight(&q) == 1;
        inflight_input(&q, &dst, &b);
        for (int k = 0; k <= i; k++)
            lent += host[k].lent;
        assert_true(lent <= INFLIGHT_LENT);
        mock_lanes.async->copy_in(&d, LANE_RUN, seen[i], input, sizeof(input));
        control[i].step = i + 1;
        mock_lanes.async->copy_in(&d, LANE_RUN, &now, &control[i], sizeof(now));
        inflight_ran(&q, i % 4 == 3 ? NULL : &now, &metrics); /* some leave none */
        check_snapshots(&q, &next);
    }
    assert_int_equal(d.syncs, 0);
    assert_true(after >= RUNS / 2); /* the device is never idle */
    assert_true(next >= RUNS - 3);
    inflight_drain(&q);
    check_snapshots(&q, &next);
    assert_int_equal(next, RUNS - 1);
    assert_true(copy_seconds == 3.0 / COPIES_A_SECOND * RUNS); /* each batch's once */
    for (int i = 0; i < RUNS; i++) {
        assert_false(host[i].lent);
        check_seen(seen[i], i);
    }
    inflight_release(&q);
}

/* A batch that is not lent has been copied when the call returns. */
static void test_not_lent(void **state)
{
    struct device d = {0};
    char pixels[PIXELS] = "pixels", labels[LABELS] = "labels";
    char input[PIXELS + LABELS];
    struct inflight_place dst = {
        .dst = {[BATCH_PIXELS] = input, [BATCH_LABELS] = input + PIXELS},
        .size = {[BATCH_PIXELS] = PIXELS, [BATCH_LABELS] = LABELS},
    };
    struct inflight q;

    (void)state;
    inflight_init(&q, &mock_lanes, &d, inflight_slot_size(dst.size));
    inflight_room(&q);
    inflight_input(&q, &dst, &(struct lent_batch){.pixels = pixels, .labels = labels});
    memset(pixels, 0, PIXELS);
    memset(labels, 0, LABELS);
    inflight_ran(&q, NULL, NULL);
    inflight_drain(&q);
    assert_string_equal(input, "pixels");
    assert_string_equal(input + PIXELS, "labels");
    inflight_release(&q);
}

/* Of unread snapshots, the last INFLIGHT_RUNS are kept. */
static void test_unread(void **state)
{
    struct device d = {0};
    struct control now = {0};
    struct metrics metrics = {0};
    struct inflight q;
    struct snapshot s;
    int64_t steps = 0;

    (void)state;
    inflight_init(&q, &mock_lanes, &d, 256);
    for (int i = 0; i < 11; i++) {
        inflight_room(&q);
        mock_lanes.sync(&d);
        now.step = i + 1;
        inflight_ran(&q, &now, &metrics);
    }
    inflight_drain(&q);
    for (int i = 0; inflight_next(&q, &s); i++) {
        assert_int_equal(s.control.step, 11 - INFLIGHT_RUNS + i + 1);
        steps = s.control.step;
    }
    assert_int_equal(steps, 11);
    inflight_release(&q);
}

/* A run that takes `seconds`; `now`: it leaves a snapshot. */
static void spend(struct inflight *q, double seconds, const struct control *now)
{
    static const struct metrics metrics;

    inflight_room(q);
    mock_lanes_add(q->device, LANE_RUN, (struct work){.kind = SPEND, .seconds = seconds});
    inflight_ran(q, now, now ? &metrics : NULL);
}

/* Snapshots report the time of their runs, even if several are read late at once. */
static void test_times(void **state)
{
    static const double want[] = {1, 2 + 4, 8, 16 + 32, 64};
    struct device d = {0};
    struct control now = {0};
    struct inflight q;
    struct snapshot s;

    (void)state;
    inflight_init(&q, &mock_lanes, &d, 256);
    spend(&q, 1000, NULL); /* before the mark: in no snapshot */
    inflight_drain(&q);
    inflight_mark(&q);
    spend(&q, want[0], &now);
    spend(&q, 2, NULL);
    spend(&q, 4, &now);
    spend(&q, want[2], &now);
    inflight_drain(&q);
    for (int i = 0; i < 3; i++) {
        assert_true(inflight_next(&q, &s));
        assert_true(s.seconds == want[i]);
    }
    spend(&q, 16, NULL);
    assert_false(inflight_next(&q, &s));
    spend(&q, 32, &now);
    inflight_drain(&q);
    assert_true(inflight_next(&q, &s));
    assert_true(s.seconds == want[3]);
    for (int i = 0; i < 6; i++)
        spend(&q, 500, NULL); /* an evaluation, whose runs leave no snapshot */
    inflight_drain(&q);
    inflight_mark(&q);
    spend(&q, want[4], &now);
    inflight_drain(&q);
    assert_true(inflight_next(&q, &s));
    assert_true(s.seconds == want[4]);
    assert_false(inflight_next(&q, &s));
    inflight_release(&q);
}

/* Runs leave snapshots on a device that is idle or late; `seen`: how many each run
 * finds. */
static void count_snapshots(bool idle, int seen[RUNS])
{
    struct device d = {0};
    struct control now = {0};
    struct metrics metrics = {0};
    struct snapshot s;
    struct inflight q;

    inflight_init(&q, &mock_lanes, &d, 256);
    q.lockstep = true;
    for (int i = 0; i < RUNS; i++) {
        seen[i] = 0;
        inflight_room(&q);
        inflight_ran(&q, i % 5 == 4 ? NULL : &now, &metrics);
        if (idle)
            mock_lanes.sync(&d);
        if (i % 7 == 6)
            inflight_drain(&q);
        while (inflight_next(&q, &s))
            seen[i]++;
    }
    inflight_drain(&q);
    inflight_release(&q);
}

static void test_lockstep(void **state)
{
    int early[RUNS], late[RUNS], sum = 0;

    (void)state;
    count_snapshots(true, early);
    count_snapshots(false, late);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(early[i], late[i]);
        sum += early[i];
    }
    assert_in_range(sum, RUNS - RUNS / 5 - 3, RUNS - RUNS / 5);
}

/*
 * A vote is seen two votes later, however many runs without votes (those of an evaluation,
 * whose number differs between processes) lie between, and never before its run is done.
 */
static void test_votes(void **state)
{
    static const int gaps[] = {0, 1, 3, 9};
    enum { VOTES = 8, STOPS = 4 };

    (void)state;
    for (size_t k = 0; k < sizeof(gaps) / sizeof(gaps[0]); k++) {
        struct device d = {0};
        float in_program = -1; /* where a batch puts its vote, and the program its mean */
        struct inflight_place place = {.dst = {[BATCH_VOTE] = &in_program},
                                       .size = {[BATCH_VOTE] = sizeof(in_program)}};
        struct inflight q;

        inflight_init(&q, &mock_lanes, &d, inflight_slot_size(place.size));
        for (int i = 0; i < VOTES; i++) {
            struct lent_batch b = {.stop = i == STOPS};

            assert_int_equal(inflight_stop(&q), i == STOPS + 2);
            inflight_room(&q);
            inflight_input(&q, &place, &b);
            inflight_vote(&q, &in_program);
            inflight_ran(&q, NULL, NULL);
            for (int n = 0; i % 3 == 2 && n < gaps[k]; n++)
                spend(&q, 1, NULL);
        }
        assert_int_equal(d.syncs, 0);
        inflight_drain(&q);
        inflight_release(&q);
    }
}

static void m_copy_out(struct device *d, void *host, const void *src, size_t size)
{
    (void)d;
    memcpy(host, src, size);
}

/* Without lanes, by the clock: from the mark to the end of the last run. */
static void test_times_at_once(void **state)
{
    static const struct backend plain = {.copy_out = m_copy_out};
    struct control now = {0};
    struct metrics metrics = {0};
    struct inflight q;
    struct snapshot s;
    double began, sum = 0, ended;

    (void)state;
    inflight_init(&q, &plain, NULL, 256);
    inflight_ran(&q, NULL, NULL);
    began = clock_now();
    inflight_mark(&q);
    for (int i = 0; i < INFLIGHT_RUNS; i++)
        inflight_ran(&q, i % 2 ? &now : NULL, &metrics);
    ended = clock_now();
    while (clock_now() <= ended)
        ;
    for (int i = 0; i < INFLIGHT_RUNS / 2; i++) {
        assert_true(inflight_next(&q, &s));
        assert_true(s.seconds >= 0);
        sum += s.seconds;
    }
    assert_false(inflight_next(&q, &s));
    assert_true(sum <= ended - began);
    inflight_release(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes),         cmocka_unit_test(test_not_lent),
        cmocka_unit_test(test_unread),        cmocka_unit_test(test_times),
        cmocka_unit_test(test_times_at_once), cmocka_unit_test(test_votes),
        cmocka_unit_test(test_lockstep),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
