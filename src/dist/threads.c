#include "dist/threads.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/log.h"
#include "dist/launch.h"
#include "dist/member.h"

enum { PIECE = 1 << 12 }; /* elements of 8 bytes summed per piece */

/* State shared by the threads. */
static struct {
    pthread_barrier_t barrier;
    void **x; /* [world]: argument of each thread in the current call */
    int world;
    int (*fn)(void *arg);
    void *arg;
} crew;

struct worker {
    struct member member;
    pthread_t thread;
    int code;
};

/* Waits for all threads: after all have set their x, after each piece was read, and at
 * the end. */
static void meet(int rank)
{
    member_waits(rank, true);
    (void)pthread_barrier_wait(&crew.barrier);
    member_waits(rank, false);
}

/* Adds elements [at, at + n) of all ranks but the first to `dst`, or takes their maximum. */
static void add_counts(int64_t *dst, int64_t pos, int64_t n, bool largest)
{
    for (int r = 1; r < crew.world; r++)
        for (int64_t i = 0; i < n; i++) {
            int64_t v = ((const int64_t *)crew.x[r])[pos + i];

            dst[i] = largest ? (v > dst[i] ? v : dst[i]) : dst[i] + v;
        }
}

static void add_doubles(double *dst, int64_t pos, int64_t n, bool largest)
{
    for (int r = 1; r < crew.world; r++)
        for (int64_t i = 0; i < n; i++) {
            double v = ((const double *)crew.x[r])[pos + i];

            dst[i] = largest ? (v > dst[i] ? v : dst[i]) : dst[i] + v;
        }
}

/* member.reduce. Each thread sums in the order of the ranks, so all get the same bits. */
static void reduce(void *x, int64_t n, enum member_type type, bool largest)
{
    int rank = member_now()->rank;
    int64_t sum[PIECE]; /* or the same number of doubles */

    crew.x[rank] = x;
    meet(rank);
    for (int64_t pos = 0; pos < n; pos += PIECE) {
        int64_t len = n - pos < PIECE ? n - pos : PIECE;

        memcpy(sum, (int64_t *)crew.x[0] + pos, (size_t)len * sizeof(int64_t));
        if (type == MEMBER_INT64)
            add_counts(sum, pos, len, largest);
        else
            add_doubles((double *)(void *)sum, pos, len, largest);
        meet(rank);
        memcpy((int64_t *)x + pos, sum, (size_t)len * sizeof(int64_t));
    }
    meet(rank);
}

static void broadcast(void *x, int64_t n)
{
    int rank = member_now()->rank;

    crew.x[rank] = x;
    meet(rank);
    if (rank)
        memcpy(x, crew.x[0], (size_t)n);
    meet(rank);
}

static void close_nothing(void) {}

static void *work(void *arg)
{
    struct worker *w = arg;

    member_set(&w->member, true);
    if (w->member.rank)
        log_mute(true);
    w->code = crew.fn(crew.arg);
    member_set(NULL, true);
    return NULL;
}

static void collective_broadcast(const struct collective *c, void *x, int n)
{
    (void)c;
    broadcast(x, n);
}

static void collective_waits(const struct collective *c, bool waiting)
{
    member_waits(c->rank, waiting);
}

static struct member member_of(const int *device, int world, int rank)
{
    return (struct member){
        .world = world,
        .rank = rank,
        .thread = rank,
        .reduce = reduce,
        .broadcast = broadcast,
        .close = close_nothing,
        .collective = {.world = world,
                       .rank = rank,
                       .gather = member_gather,
                       .devices = device,
                       .broadcast = collective_broadcast,
                       .waits = collective_waits,
                       .watch = member_watch},
    };
}

int dist_threads(const int *device, int n, int (*fn)(void *arg), void *arg)
{
    struct worker *w;
    int code;

    if (n == 1 || dist_launched().world > 1)
        return fn(arg);
    w = xcalloc((size_t)n, sizeof(*w));
    crew.x = xcalloc((size_t)n, sizeof(*crew.x));
    crew.world = n;
    crew.fn = fn;
    crew.arg = arg;
    if (pthread_barrier_init(&crew.barrier, NULL, (unsigned)n))
        die("no barrier for %d threads", n);
    machine_shared_by(n);
    for (int i = 0; i < n; i++) {
        w[i].member = member_of(device, n, i);
        if (i && pthread_create(&w[i].thread, NULL, work, &w[i]))
            die("cannot start a thread");
    }
    (void)work(&w[0]);
    for (int i = 1; i < n; i++)
        (void)pthread_join(w[i].thread, NULL);
    code = w[0].code;
    machine_shared_by(1);
    (void)pthread_barrier_destroy(&crew.barrier);
    free(crew.x);
    free(w);
    return code;
}
