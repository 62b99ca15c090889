/*
 * Which of the processes do not answer, for the message of DIST.TIMEOUT. Who has waited for
 * a while asks all others, and who waits, too, answers; a process that hangs does neither.
 * Nothing is sent while nobody waits long. Private to src/dist/.
 *
 *   roll_call_open();                   all, once MPI is there
 *   roll_call_hear(wait, true);         from the thread that watches, several times a second
 *   roll_call_missing(&who);            who has not answered
 *
 * It needs an MPI that several threads may call; without, nobody is known to be missing.
 */
#ifndef DIST_ROLL_CALL_H
#define DIST_ROLL_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

void roll_call_open(int world, int rank);
void roll_call_close(void); /* nobody calls MPI from here on */

/* Answers those who have asked. `ask`: has asked them all in this wait, whose number is of
 * no other. */
void roll_call_hear(int64_t wait, bool ask);

/* "rank 1 on host b", or several; false, and nothing: none, or nobody was asked. */
bool roll_call_missing(struct strbuf *who);

/* The host of this process, where somebody else may have asked. */
const char *roll_call_host(void);

#endif
