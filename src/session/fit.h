/*
 * Does a run fit the device's memory? Asked before anything is allocated: programs are
 * compiled, and their sizes added up, for as many batch sizes as the answer takes. On a
 * device whose memory is the host's, only what the whole machine has not is refused: what
 * others will leave of it is not known.
 */
#ifndef SESSION_FIT_H
#define SESSION_FIT_H

#include "base/strbuf.h"
#include "session/session.h"

/* Bytes of device memory that a compiled session allocates. */
size_t fit_need(const struct session *s);

/*
 * False: it does not fit, and `why` gets one line: what is needed and for what, what is
 * free, the largest DATA.BATCH_SIZE that fits, and what activation checkpointing saves.
 */
bool fit_check(const struct session *s, struct strbuf *why);

/*
 * DATA.BATCH_SIZE auto: the largest batch that fits, a multiple of 8 from 8 on, of
 * `images` at most (0: any number). No tensor gets 2^31 elements or more, which libraries
 * do not take. `s` has a device and nothing compiled. Dies if not even one image fits, or
 * if the device does not say what memory it has.
 */
int64_t fit_batch(const struct session *s, const struct session_options *o);

/*
 * One line (in the log: "memory at the start: ...") of what the device's memory is taken by
 * now; "" where it is the host's. Its peak is the most of this program, libraries as they
 * are now. What other programs take meanwhile counts as libraries'; once they have given
 * more back than those took, nobody knows which is which, and the line says so. Does not
 * wait for the device.
 */
void fit_memory(const struct session *s, struct strbuf *text);
void fit_report(const struct session *s, const char *when);

#endif
