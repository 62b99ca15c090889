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
 * One line (in the log: "memory at the start: ...") of what the device's memory is taken
 * by now; "" where it is the host's. Its peak is the most of this program, libraries as
 * they are now. The driver only says what is free, so what other programs take counts as
 * libraries' until fit_settle(); if they give more back than those took before it, nobody
 * knows which is which, and the line says so. Does not wait for the device.
 */
void fit_memory(const struct session *s, struct strbuf *text);
void fit_report(const struct session *s, const char *when);

/* Libraries take memory when a program runs for the first time, and the driver when it is
 * recorded. Once each program has run twice, what they have now is what they keep: what
 * is taken or given back from then on is other programs'. Until then it does nothing. */
void fit_settle(struct session *s);

/* device_memory of s, with what is known of libraries. False: it is the host's. */
bool fit_device_memory(const struct session *s, struct device_memory *m);

#endif
