/*
 * Which of the processes do not answer, for the message of DIST.TIMEOUT. A process that
 * has waited for a while asks all others, and those that wait, too, answer; one that
 * hangs does not. Nothing is sent while nobody waits long. Private to src/dist/.
 *
 *   roll_call_open(world, rank);        by all processes, once MPI is there
 *   roll_call_hear(wait, true);         by the watching thread, several times a second
 *   roll_call_missing(&who);            who has not answered
 *
 * It needs an MPI that several threads may call; without one, nobody is known to be
 * missing.
 */
#ifndef DIST_ROLL_CALL_H
#define DIST_ROLL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

void roll_call_open(int world, int rank);
void roll_call_close(void); /* nobody calls MPI from here on */

/* Answers those that have asked. `ask`: asks all others, once in each wait. `wait`: the
 * number of this wait, which no other has. */
void roll_call_hear(int64_t wait, bool ask);

/* Appends "rank 1 on host b", or several. False: none is missing, or nobody was asked. */
bool roll_call_missing(struct strbuf *who);

/* The name of this process's host. */
const char *roll_call_host(void);

#endif
