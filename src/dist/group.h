/*
 * The processes that train one model together, each with a copy of it: PyTorch's process
 * group. A process alone is a group of one, and all calls cost nothing there.
 *
 *   dist_open(1800);                finds the others; once, before the first call below
 *   dist_sum_counts(&n, 1);         every process makes the same calls in the same order
 *   dist_close();                   at the end; a process that ends without it ends all
 *
 * They talk by Open MPI (libmpi.so.40, opened at run time) if it has started them, and
 * else by their devices' library (dist/nccl.h). Threads of one process that have a device
 * each talk by memory; their group is made before dist_open (dist/threads.h). Calls come
 * from the thread that called dist_open. From then on processes other than the first log
 * errors only, and a die() in one ends all.
 */
#ifndef DIST_GROUP_H
#define DIST_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/collective.h"

/* Dies if a launcher has started several processes and they cannot find each other. From
 * then on, a process that waits longer than `timeout` seconds for the others in one call
 * ends the run, and tells which of them do not answer: they hang, or their machines are
 * gone. */
void dist_open(double timeout);
void dist_close(void);

int dist_world(void); /* how many processes; 1: alone */
int dist_rank(void);  /* of this one, from 0 */

/* With several devices in a process (dist/threads.h): which thread this is, from 0. */
int dist_thread(void);

/* Is this the process that writes the outputs of the run? */
static inline bool dist_is_first(void)
{
    return dist_rank() == 0;
}

/* Notes the update that this process is at, for the message of DIST.TIMEOUT. */
void dist_at(int64_t update);

/* Sums over all processes, in each of them. */
void dist_sum_counts(int64_t *x, int n);
void dist_sum_doubles(double *x, int n);
/* The largest x of all processes, in each of them. */
int dist_max(int x);
/* Waits until all processes have called it. */
void dist_barrier(void);

/* Ends the program, in all processes, if their digests differ; the message names `what`
 * ("configuration") they are of. */
void dist_agree(const char *what, uint64_t digest);

/* Broadcast: the n bytes at x become those of the first process. */
void dist_tell(void *x, int n);

/*
 * For programs (ops/all_reduce.h), of all processes or, dist_neighbours, of the n whose
 * rank / n is that of this one, where n divides the world. NULL: there is no other
 * process. All processes make the call, and dist_neighbours always with the same n.
 */
const struct collective *dist_collective(void);
const struct collective *dist_neighbours(int n);

#endif
