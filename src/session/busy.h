/* A machine that has other work to do. */
#ifndef SESSION_BUSY_H
#define SESSION_BUSY_H

#include "session/session.h"

/* Returns how many of `threads` threads run at once on `cores` cores with a load average
 * of `load`; at least 1. */
int busy_fair_threads(double load, int cores, int threads);

/* Notes once, where the processor computes with several threads and the load average is
 * above the number of cores, that fewer threads may be faster: all wait for the one that
 * other programs push aside. */
void busy_note(const struct session *s);

#endif
