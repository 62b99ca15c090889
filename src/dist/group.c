#include "dist/group.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/cores.h"
#include "base/error.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "dist/launch.h"
#include "dist/mpi_calls.h"

static struct {
    const struct mpi_library *lib; /* NULL: alone */
    int world, rank;
} group = {.world = 1};

/* When the call began that waits for the others; 0: none does. */
static _Atomic double waits_since;
static double timeout;

void mpi_begin(void)
{
    atomic_store(&waits_since, clock_now());
}

void mpi_check(int code, const char *call)
{
    atomic_store(&waits_since, 0);
    if (code)
        die("MPI_%s failed with the code %d", call, code);
}

/* The thread of the program is in a call that does not come back: nobody else may call
 * MPI. mpirun ends the others when this process does. */
static void *watch(void *arg)
{
    (void)arg;
    for (;;) {
        double since = atomic_load(&waits_since);

        if (since > 0 && clock_now() - since > timeout) {
            error_rank(group.rank, NULL);
            die("waited %g seconds for the other processes (DIST.TIMEOUT): one of them "
                "hangs, or its machine is gone",
                timeout);
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

/* The others wait in their next call, for ever, unless they are told. */
static void end_all(int code)
{
    if (group.lib)
        group.lib->Abort(group.lib->world, code);
}

/* Processes that can share memory with this one: those of this machine. */
static int processes_here(void)
{
    const struct mpi_library *lib = group.lib;
    void *here = NULL;
    int n = 1;

    mpi_check(lib->Comm_split_type(lib->world, MPI_COMM_TYPE_SHARED_, 0, lib->no_info, &here),
          "Comm_split_type");
    mpi_check(lib->Comm_size(here, &n), "Comm_size");
    mpi_check(lib->Comm_free(&here), "Comm_free");
    return n;
}

void dist_open(double seconds)
{
    struct dist_launch l = dist_launched();
    struct strbuf why = STRBUF_INIT;
    const struct mpi_library *lib;
    int provided = 0;

    if (l.world == 1 || group.lib)
        return;
    lib = l.mpi ? mpi_library(&why) : NULL;
    if (!lib)
        usage("%s is %d (%s): %s", l.size_key, l.world, l.by,
              why.len ? why.buf : "processes on CPUs are started by mpirun");
    mpi_check(lib->Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED_, &provided), "Init_thread");
    mpi_check(lib->Comm_size(lib->world, &group.world), "Comm_size");
    mpi_check(lib->Comm_rank(lib->world, &group.rank), "Comm_rank");
    if (group.world != l.world)
        usage("%s says %d processes, and MPI finds %d: was this program started by "
              "another MPI's %s?",
              l.size_key, l.world, group.world, l.by);
    group.lib = lib;
    error_rank(group.rank, end_all);
    machine_shared_by(processes_here());
    start_watch(seconds);
    if (group.rank)
        log_level_set(LOG_ERROR);
}

void dist_close(void)
{
    if (!group.lib)
        return;
    mpi_check(group.lib->Finalize(), "Finalize");
    error_rank(group.rank, NULL);
    group.lib = NULL;
    group.world = 1;
    group.rank = 0;
}

int dist_world(void)
{
    return group.world;
}

int dist_rank(void)
{
    return group.rank;
}

static void all_reduce(void *x, int n, void *type, void *op)
{
    mpi_begin();
    mpi_check(group.lib->Allreduce(MPI_IN_PLACE_, x, n, type, op, group.lib->world),
          "Allreduce");
}

void dist_sum_counts(int64_t *x, int n)
{
    if (group.lib)
        all_reduce(x, n, group.lib->type_int64, group.lib->sum);
}

void dist_sum_doubles(double *x, int n)
{
    if (group.lib)
        all_reduce(x, n, group.lib->type_double, group.lib->sum);
}

int dist_max(int x)
{
    int64_t all = x;

    if (group.lib)
        all_reduce(&all, 1, group.lib->type_int64, group.lib->max);
    return (int)all;
}

void dist_barrier(void)
{
    if (!group.lib)
        return;
    mpi_begin();
    mpi_check(group.lib->Barrier(group.lib->world), "Barrier");
}

void dist_agree(const char *what, uint64_t digest)
{
    uint64_t *all;
    int other = 0;

    if (!group.lib)
        return;
    all = xcalloc((size_t)group.world, sizeof(*all));
    mpi_begin();
    mpi_check(group.lib->Allgather(&digest, 1, group.lib->type_int64, all, 1,
                               group.lib->type_int64, group.lib->world),
          "Allgather");
    while (other < group.world && all[other] == all[0])
        other++;
    if (other < group.world && group.rank == 0)
        die("rank %d has another %s than rank 0: all processes of a run need the same",
            other, what);
    free(all);
    if (other < group.world)
        dist_barrier(); /* rank 0 says it, and ends all */
}

void dist_tell(void *x, int n)
{
    if (!group.lib)
        return;
    mpi_begin();
    mpi_check(group.lib->Bcast(x, n, group.lib->type_byte, 0, group.lib->world), "Bcast");
}

const struct mpi_library *mpi_opened(void)
{
    return group.lib;
}
