/*
 * The processes that train together, one model in each: PyTorch's process group. A process
 * alone is a group of one, and all calls cost nothing there.
 *
 *   dist_open(1800);                finds the others; once, before the first call below
 *   dist_sum_counts(&n, 1);         every process makes the same calls in the same order
 *   dist_close();                   at the end; a process that ends without it ends all
 *
 * The engine is Open MPI (libmpi.so.40, opened at run time), where it has started them;
 * else what ties their devices together (dist/nccl.h); and memory between threads of one
 * process that have a device each (dist/threads.h), where dist_open finds the group made.
 * Calls come from the thread that called dist_open. From then on processes other than the
 * first keep their log to errors, and a die() in one ends all.
 */
#ifndef DIST_GROUP_H
#define DIST_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/collective.h"

/* Dies if a launcher has started several and they cannot find each other. A process that
 * then waits longer than `timeout` seconds for the others in one call ends the run, and
 * says who does not answer: they hang, or their machines are gone. */
void dist_open(double timeout);
void dist_close(void);

int dist_world(void); /* processes; 1: alone */
int dist_rank(void);  /* of this one, from 0 */

/* Several devices of one process (dist/threads.h): which of its threads this is, from 0. */
int dist_thread(void);

/* Whose outputs are those of the run. */
static inline bool dist_is_first(void)
{
    return dist_rank() == 0;
}

/* This process is at that update of the run: for the message of one that has waited. */
void dist_at(int64_t update);

/* Sums over all processes, in each of them. */
void dist_sum_counts(int64_t *x, int n);
void dist_sum_doubles(double *x, int n);
/* The largest of what they say. */
int dist_max(int x);
/* Waits for all. */
void dist_barrier(void);

/* Ends the program, in all processes, if they do not give the same number: `what`
 * ("configuration") differs. */
void dist_agree(const char *what, uint64_t digest);

/* n bytes become those of the first process. */
void dist_tell(void *x, int n);

/*
 * For programs (ops/all_reduce.h); NULL alone. dist_neighbours: of the n processes whose
 * ranks are those of this one's rank / n, where n divides the world; all make the call.
 */
const struct collective *dist_collective(void);
const struct collective *dist_neighbours(int n);

#endif
