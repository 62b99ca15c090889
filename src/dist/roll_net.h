/*
 * The roll call (dist/roll_call.h) of processes that no MPI ties together, by UDP: those
 * that wait tell rank 0 so, at the port where all meet, and rank 0 answers who does not.
 * It works from the start on, also for a rank that never comes. Where no datagram passes,
 * nobody is known to be missing (but of two processes the other one). Private to
 * src/dist/.
 *
 *   roll_net_open(world, rank, "host:port");  before the processes meet
 *   roll_net_tick(waits);                     by the watching thread, five times a second
 *   roll_net_missing(&who);                   who does not wait
 */
#ifndef DIST_ROLL_NET_H
#define DIST_ROLL_NET_H

#include <stdbool.h>

#include "base/strbuf.h"

void roll_net_open(int world, int rank, const char *address);
void roll_net_close(void);

/* `waits`: this process has waited for the others for a while. Does nothing before
 * roll_net_open(). */
void roll_net_tick(bool waits);

/* Appends "rank 1 on host b", or several. False: none is known to be missing. */
bool roll_net_missing(struct strbuf *who);

#endif
