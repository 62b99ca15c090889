/*
 * Finds processes that do not answer, for the message of DIST.TIMEOUT. A process that has
 * waited for a while asks all others; waiting processes answer, a hanging one does not.
 * No messages are sent before that. Private to src/dist/.
 *
 *   roll_call_open(world, rank);        by all processes, after MPI has started
 *   roll_call_listen(wait, true);         by the watching thread, several times a second
 *   roll_call_missing(&who);            processes that have not answered
 *
 * Requires an MPI with thread support; otherwise missing processes are unknown.
 */
#ifndef DIST_ROLL_CALL_H
#define DIST_ROLL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

void roll_call_open(int world, int rank);
void roll_call_close(void); /* no MPI calls afterwards */

/* Answers those that have asked. `query`: asks all others, once per wait. `wait`: the
 * unique number of this wait. */
void roll_call_listen(int64_t wait, bool query);

/* Appends "rank 1 on host b", or several. Returns false if none is missing, or if nothing
 * was asked. */
bool roll_call_missing(struct strbuf *who);

/* Returns the name of this process's host. */
const char *roll_call_host(void);

#endif
