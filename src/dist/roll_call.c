#include "dist/roll_call.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dist/mpi_calls.h"

/* Maximum length of a host name; message tags; maximum number of missing processes
 * listed. */
enum { HOST = 64, ASK = 1, ANSWER = 2, NAMED = 4 };

/* Messages that were sent, kept because MPI may still read them. */
struct sent {
    struct sent *next;
    int64_t number;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects calls with
                                                          * roll.comm */

static struct {
    void *comm; /* MPI_Comm; NULL: not open */
    int world, rank;
    char (*host)[HOST];
    bool *here;    /* [world]: true if it has answered */
    int64_t asked; /* the wait in which this process last asked; -1: never */
    struct sent *sent;
} roll = {.asked = -1};

const char *roll_call_host(void)
{
    static char name[HOST];

    if (!*name && gethostname(name, sizeof(name) - 1))
        (void)snprintf(name, sizeof(name), "?");
    return name;
}

void roll_call_open(int world, int rank)
{
    const struct mpi_library *lib = mpi_opened();

    mpi_begin();
    mpi_check(lib->Comm_split(lib->world, 0, rank, &roll.comm), "Comm_split");
    roll.world = world;
    roll.rank = rank;
    roll.host = xcalloc((size_t)world, sizeof(*roll.host));
    roll.here = xcalloc((size_t)world, sizeof(*roll.here));
    (void)snprintf(roll.host[rank], HOST, "%s", roll_call_host());
    mpi_begin();
    mpi_check(lib->Allgather(MPI_IN_PLACE_, 0, lib->type_byte, roll.host, HOST,
                             lib->type_byte, roll.comm),
              "Allgather");
}

/* Errors are ignored: a dead process does not answer, and only that counts. */
static void send(int rank, int tag, int64_t number)
{
    const struct mpi_library *lib = mpi_opened();
    struct sent *s = xcalloc(1, sizeof(*s));
    void *request;

    *s = (struct sent){roll.sent, number};
    roll.sent = s;
    if (!lib->Isend(&s->number, sizeof(s->number), lib->type_byte, rank, tag, roll.comm,
                    &request))
        (void)lib->Request_free(&request);
}

/* Receives a message if there is one. */
static bool receive(int rank, int tag, int64_t *number)
{
    const struct mpi_library *lib = mpi_opened();
    int there = 0;

    if (lib->Iprobe(rank, tag, roll.comm, &there, MPI_STATUSES_IGNORE_) || !there)
        return false;
    return !lib->Recv(number, sizeof(*number), lib->type_byte, rank, tag, roll.comm,
                      MPI_STATUSES_IGNORE_);
}

static void query_all(int64_t wait)
{
    roll.asked = wait;
    memset(roll.here, 0, (size_t)roll.world * sizeof(*roll.here));
    roll.here[roll.rank] = true;
    for (int r = 0; r < roll.world; r++)
        if (r != roll.rank)
            send(r, ASK, wait);
}

void roll_call_listen(int64_t wait, bool query)
{
    int64_t number;

    (void)pthread_mutex_lock(&lock);
    if (roll.comm && query && roll.asked != wait)
        query_all(wait);
    for (int r = 0; roll.comm && r < roll.world; r++) {
        while (r != roll.rank && receive(r, ASK, &number))
            send(r, ANSWER, number);
        while (r != roll.rank && receive(r, ANSWER, &number))
            roll.here[r] |= number == roll.asked;
    }
    (void)pthread_mutex_unlock(&lock);
}

void roll_call_close(void)
{
    (void)pthread_mutex_lock(&lock);
    roll.comm = NULL;
    (void)pthread_mutex_unlock(&lock);
}

bool roll_call_missing(struct strbuf *who)
{
    int missing = 0;

    for (int r = 0; roll.asked >= 0 && r < roll.world; r++)
        if (!roll.here[r] && missing++ < NAMED)
            strbuf_addf(who, "%srank %d on host %s", missing > 1 ? ", " : "", r,
                        roll.host[r]);
    if (missing > NAMED)
        strbuf_addf(who, " and %d more", missing - NAMED);
    return missing > 0;
}
