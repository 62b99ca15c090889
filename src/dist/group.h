/*
 * The processes that train one model together, each with a copy of it: PyTorch's process
 * group. A single process is a group of one, where all calls are free.
 *
 *   dist_open(300);                 finds the others; once, before the first call below
 *   dist_sum_counts(&n, 1);         every process makes the same calls in the same order
 *   dist_close();                   at the end; a process that ends without it ends all
 *
 * They communicate by Open MPI (libmpi.so.40, opened at run time) if it started them,
 * otherwise by their devices' library (dist/nccl.h). Threads of one process with a device
 * each communicate through memory; their group is created before dist_open
 * (dist/threads.h). All calls come from the thread that called dist_open. Afterwards
 * processes other than the first log only errors, and a die() in one ends all.
 */
#ifndef DIST_GROUP_H
#define DIST_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/collective.h"

/* Dies if a launcher has started several processes and they cannot find each other.
 * Afterwards a process that waits longer than `timeout` seconds for the others in one
 * call ends the run and reports which of them do not answer: they hang, or their machines
 * are gone. */
void dist_open(double timeout);
void dist_close(void);

int dist_world(void); /* number of processes; 1: not distributed */
int dist_rank(void);  /* of this process, from 0 */

/* Returns the thread of a process with several devices (dist/threads.h), from 0. */
int dist_thread(void);

/* True in the process that writes the outputs of the run. */
static inline bool dist_is_first(void)
{
    return dist_rank() == 0;
}

/* Records the current update of this process, for the message of DIST.TIMEOUT. */
void dist_at(int64_t update);

/* Sums over all processes; each gets the result. */
void dist_sum_counts(int64_t *x, int n);
void dist_sum_doubles(double *x, int n);
/* Maximum over all processes; each gets the result. */
int dist_max(int x);
/* True if each of these calls is an exchange between devices for which the host waits. */
bool dist_by_device(void);
/* Waits until all processes have called it. */
void dist_barrier(void);

/* Ends the program in all processes if their digests differ; the message names their
 * subject `what` ("configuration"). */
void dist_agree(const char *what, uint64_t digest);

/* Broadcasts n bytes at x from the first process. */
void dist_broadcast(void *x, int n);

/*
 * The collective of programs (ops/all_reduce.h): of all processes, or with
 * dist_neighbors of the n processes with the same rank / n, where n divides the world.
 * Returns NULL for a single process. All processes make the call, and dist_neighbors
 * always with the same n.
 */
const struct collective *dist_collective(void);
const struct collective *dist_neighbors(int n);

#endif
