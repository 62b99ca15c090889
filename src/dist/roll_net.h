/*
 * The roll call (dist/roll_call.h) of processes without MPI, by UDP: waiting processes
 * report to rank 0, at the port of the meeting point, and rank 0 answers with the
 * processes that do not wait. It works from the start, also for a rank that never
 * appears. Where datagrams are blocked, missing ranks are unknown, except with two
 * processes. Private to src/dist/.
 *
 *   roll_net_open(world, rank, "host:port");  before the processes connect
 *   roll_net_tick(waits);                     by the watching thread, five times a second
 *   roll_net_missing(&who);                   processes that do not wait
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

/* Appends "rank 1 on host b", or several. Returns false if no missing process is known. */
bool roll_net_missing(struct strbuf *who);

#endif
