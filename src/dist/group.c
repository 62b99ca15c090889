#include "dist/group.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "dist/launch.h"
#include "dist/member.h"
#include "dist/mpi_calls.h"
#include "dist/nccl.h"
#include "dist/roll_call.h"
#include "dist/roll_net.h"

static struct {
    const struct mpi_library *lib; /* NULL: single process, or members */
    int world, rank;
} group = {.world = 1};

/* Per thread (most processes have only thread 0): clock_now() at the start of its waiting
 * call, or 0 if it is not waiting. */
enum { THREADS = 64 };
static _Atomic double waits_since[THREADS];
static _Atomic int64_t waits;  /* waiting calls so far */
static _Atomic int64_t update; /* see dist_at */
static double timeout;
static bool crew; /* the members are threads of this process */

void member_waits(int thread, bool waiting)
{
    if (waiting)
        atomic_fetch_add(&waits, 1);
    atomic_store(&waits_since[thread % THREADS], waiting ? clock_now() : 0);
}

/* What the watching thread asks, one item per device of this process. */
static struct {
    pthread_mutex_t lock;
    struct {
        const char *(*failed)(void *arg);
        void *arg;
    } item[THREADS];
} watched = {.lock = PTHREAD_MUTEX_INITIALIZER};

void member_watch(const char *(*failed)(void *arg), void *arg)
{
    int i = 0;

    (void)pthread_mutex_lock(&watched.lock);
    while (i < THREADS && watched.item[i].arg != arg)
        i++;
    for (int k = 0; i == THREADS && failed && k < THREADS; k++)
        if (!watched.item[k].arg)
            i = k;
    if (i < THREADS) {
        watched.item[i].failed = failed;
        watched.item[i].arg = failed ? arg : NULL;
    }
    (void)pthread_mutex_unlock(&watched.lock);
}

/* Ends this process if a device's library has found an error on its own. */
static void ask_devices(void)
{
    const char *why = NULL;

    (void)pthread_mutex_lock(&watched.lock);
    for (int i = 0; i < THREADS && !why; i++)
        if (watched.item[i].arg)
            why = watched.item[i].failed(watched.item[i].arg);
    (void)pthread_mutex_unlock(&watched.lock);
    if (!why)
        return;
    error_rank(dist_rank(), NULL);
    die("%s, on host %s in update %lld", why, roll_call_host(),
        (long long)atomic_load(&update));
}

void mpi_begin(void)
{
    member_waits(0, true);
}

void mpi_check(int code, const char *call)
{
    member_waits(0, false);
    if (code)
        die("MPI_%s failed with the code %d", call, code);
}

void dist_at(int64_t n)
{
    if (!dist_thread())
        atomic_store(&update, n);
}

/* Appends the threads of this process that are not waiting while others are. Returns
 * false if there are none. */
static bool missing_threads(struct strbuf *who)
{
    int missing = 0;

    for (int i = 0; i < machine_processes() && i < THREADS; i++)
        if (atomic_load(&waits_since[i]) <= 0)
            strbuf_addf(who, "%srank %d on host %s", missing++ ? ", " : "", i,
                        roll_call_host());
    return missing > 0;
}

/* Ends this process, whose thread is in a call that does not return. mpirun then ends the
 * others. */
static void end_waiting(void)
{
    struct strbuf who = STRBUF_INIT;
    bool known = crew        ? missing_threads(&who)
                 : group.lib ? roll_call_missing(&who)
                             : roll_net_missing(&who);

    error_rank(dist_rank(), NULL);
    die("waited %g seconds for the other processes (DIST.TIMEOUT), on host %s in update "
        "%lld: %s %s, or %s machine is gone",
        timeout, roll_call_host(), (long long)atomic_load(&update),
        known ? who.buf : "one of them", known && strchr(who.buf, ',') ? "hang" : "hangs",
        known && strchr(who.buf, ',') ? "their" : "its");
}

/* The thread that enforces DIST.TIMEOUT, five times a second. */
static void *watch(void *arg)
{
    enum { ANSWERS_AFTER = 400 }; /* milliseconds */
    double looked = clock_now(), woke = 0;

    (void)arg;
    for (;;) {
        double now = clock_now();

        if (now - looked > 1) /* this process was stopped and did not wait */
            woke = now;
        looked = now;
        ask_devices();
        for (int i = 0; i < THREADS; i++) {
            double since = atomic_load(&waits_since[i]);
            double seconds = now - (since > woke ? since : woke);

            bool waited = since > 0 && seconds * 1000 > ANSWERS_AFTER;

            if (i == 0)
                roll_net_tick(waited);
            if (i == 0 && waited)
                roll_call_listen(atomic_load(&waits), seconds > timeout / 2);
            if (since > 0 && seconds > timeout)
                end_waiting();
        }
        (void)usleep(200000);
    }
    return NULL;
}

static void start_watch(double seconds)
{
    pthread_t thread;

    timeout = seconds;
    if (pthread_create(&thread, NULL, watch, NULL))
        die("cannot start a thread");
    (void)pthread_detach(thread);
}

/* Ends all processes: otherwise the others would wait in their next call forever. */
static void end_all(int code)
{
    if (group.lib)
        group.lib->Abort(group.lib->world, code);
}

/* Returns the number of processes on this machine, which can share memory. */
static int processes_here(void)
{
    const struct mpi_library *lib = group.lib;
    void *here = NULL;
    int n = 1;

    mpi_check(
        lib->Comm_split_type(lib->world, MPI_COMM_TYPE_SHARED_, 0, lib->no_info, &here),
        "Comm_split_type");
    mpi_check(lib->Comm_size(here, &n), "Comm_size");
    mpi_check(lib->Comm_free(&here), "Comm_free");
    return n;
}

/* Creates the group with the devices' library. Returns false if there is none. */
static bool open_nccl(const struct dist_launch *l, double seconds)
{
    start_watch(seconds);
    if (!dist_nccl_open(l->world, l->rank))
        return false;
    error_rank(l->rank, NULL);
    machine_shared_by(l->local_world);
    if (l->rank)
        log_level_set(LOG_ERROR);
    return true;
}

void dist_open(double seconds)
{
    struct dist_launch l = dist_launched();
    struct strbuf why = STRBUF_INIT;
    const struct mpi_library *lib;
    int provided = 0;

    if (member_now() && !dist_thread()) {
        crew = true;
        start_watch(seconds);
    }
    if (l.world == 1 || group.lib || member_now())
        return;
    if (l.one_machine)
        dist_stay_here();
    if (!l.mpi && open_nccl(&l, seconds))
        return;
    lib = l.mpi ? mpi_library(&why) : NULL;
    if (!lib)
        usage("%s is %d (%s): %s", l.size_key, l.world, l.program,
              why.len ? why.buf : "processes on CPUs are started by mpirun");
    mpi_check(lib->Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE_, &provided),
              "Init_thread");
    mpi_check(lib->Comm_size(lib->world, &group.world), "Comm_size");
    mpi_check(lib->Comm_rank(lib->world, &group.rank), "Comm_rank");
    if (group.world != l.world)
        usage("%s says %d processes, and MPI finds %d: was this program started by "
              "another MPI's %s?",
              l.size_key, l.world, group.world, l.program);
    group.lib = lib;
    error_rank(group.rank, end_all);
    machine_shared_by(processes_here());
    if (provided >= MPI_THREAD_MULTIPLE_)
        roll_call_open(group.world, group.rank);
    start_watch(seconds);
    if (group.rank)
        log_level_set(LOG_ERROR);
}

void dist_close(void)
{
    if (member_now())
        member_now()->close();
    if (!group.lib)
        return;
    roll_call_close();
    mpi_check(group.lib->Finalize(), "Finalize");
    error_rank(group.rank, NULL);
    group.lib = NULL;
    group.world = 1;
    group.rank = 0;
}

int dist_world(void)
{
    return member_now() ? member_now()->world : group.world;
}

int dist_rank(void)
{
    return member_now() ? member_now()->rank : group.rank;
}

int dist_thread(void)
{
    return member_now() ? member_now()->thread : 0;
}

static void all_reduce(void *x, int n, void *type, void *op)
{
    mpi_begin();
    mpi_check(group.lib->Allreduce(MPI_IN_PLACE_, x, n, type, op, group.lib->world),
              "Allreduce");
}

void dist_sum_counts(int64_t *x, int n)
{
    if (member_now())
        member_now()->reduce(x, n, MEMBER_INT64, false);
    if (group.lib)
        all_reduce(x, n, group.lib->type_int64, group.lib->sum);
}

void dist_sum_doubles(double *x, int n)
{
    if (member_now())
        member_now()->reduce(x, n, MEMBER_DOUBLE, false);
    if (group.lib)
        all_reduce(x, n, group.lib->type_double, group.lib->sum);
}

int dist_max(int x)
{
    int64_t all = x;

    if (member_now())
        member_now()->reduce(&all, 1, MEMBER_INT64, true);
    if (group.lib)
        all_reduce(&all, 1, group.lib->type_int64, group.lib->max);
    return (int)all;
}

bool dist_by_device(void)
{
    return member_now() && member_now()->by_device;
}

void dist_barrier(void)
{
    int64_t none = 0;

    if (member_now())
        member_now()->reduce(&none, 1, MEMBER_INT64, false);
    if (!group.lib)
        return;
    mpi_begin();
    mpi_check(group.lib->Barrier(group.lib->world), "Barrier");
}

/* Gets the digests of all ranks: all[r] is that of rank r. */
static void collect(uint64_t digest, uint64_t *all)
{
    if (member_now()) {
        all[dist_rank()] = digest;
        member_now()->reduce(all, dist_world(), MEMBER_INT64, false);
        return;
    }
    mpi_begin();
    mpi_check(group.lib->Allgather(&digest, 1, group.lib->type_int64, all, 1,
                                   group.lib->type_int64, group.lib->world),
              "Allgather");
}

void dist_agree(const char *what, uint64_t digest)
{
    int world = dist_world(), other = 0;
    uint64_t *all;

    if (world == 1)
        return;
    all = xcalloc((size_t)world, sizeof(*all));
    collect(digest, all);
    while (other < world && all[other] == all[0])
        other++;
    if (other < world && dist_rank() == 0)
        die("rank %d has another %s than rank 0: all processes of a run need the same",
            other, what);
    free(all);
    if (other < world)
        dist_barrier(); /* until rank 0 has reported and ends all */
}

void dist_broadcast(void *x, int n)
{
    if (member_now())
        member_now()->broadcast(x, n);
    if (!group.lib)
        return;
    mpi_begin();
    mpi_check(group.lib->Bcast(x, n, group.lib->type_byte, 0, group.lib->world), "Bcast");
}

const struct mpi_library *mpi_opened(void)
{
    return group.lib;
}
