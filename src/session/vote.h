/*
 * Votes to stop, in the programs of processes that have only their devices to communicate
 * by. Asking each other between two batches would have the host wait for the device.
 * Instead each training batch carries a float, 1 if its process must stop (lent_batch.stop)
 * and else 0. Its mean over all processes is taken by an all-reduce of the program itself,
 * during the forward phase, and read together with the snapshots:
 *
 *   lent.stop = ...;
 *   session_step_lent(&s, &lent);
 *   if (session_voted_to_stop(&s)) ...     two batches later, in all processes alike
 */
#ifndef SESSION_VOTE_H
#define SESSION_VOTE_H

#include "graph/collective.h"
#include "graph/graph.h"

/* The vote is at the start of MEMORY_TRAVELS; buckets begin after it. */
enum { VOTE_BYTES = 64 };

/* Appends the node that starts the exchange; returns where the batch puts its vote. */
struct tensor *vote_start(struct builder *b, const struct collective *group);
/* Appends the node that waits for it, in the update phase. */
void vote_join(struct builder *b, struct tensor *vote, const struct collective *group);

#endif
