/*
 * Checks whether a run fits into device memory, before anything is allocated: compiles
 * the programs, for several batch sizes if necessary, and adds up their sizes. On a
 * device that uses host memory, only a run that exceeds the machine's memory is refused,
 * because the use by other processes is not known.
 */
#ifndef SESSION_FIT_H
#define SESSION_FIT_H

#include "base/strbuf.h"
#include "session/session.h"

/* Returns the bytes of device memory that a compiled session allocates. */
size_t fit_need(const struct session *s);

/*
 * Returns false if the session does not fit, and sets `why` to one line: needed bytes by
 * kind, free bytes, the largest DATA.BATCH_SIZE that fits, and the savings of activation
 * checkpointing.
 */
bool fit_check(const struct session *s, struct strbuf *why);

/*
 * DATA.BATCH_SIZE auto: returns the largest batch that fits, at most `images` (0: no
 * limit), and a multiple of 8 from 8 on. No tensor gets 2^31 elements or more, which
 * libraries do not accept. `s` has a device and nothing compiled. Dies if not even one
 * image fits or if the device does not report its memory.
 */
int64_t fit_batch(const struct session *s, const struct session_options *o);

/*
 * Sets `text` to one line on the use of device memory (the log prints "memory at the
 * start: ..."), or to "" if the device uses host memory. Its peak is the maximum of this
 * program with the libraries' present share. The driver reports only free memory, so
 * until fit_settle() the use of other programs is counted as libraries'. If other
 * programs then free more than they had, the split is unknown and the line says so. Does
 * not wait for the device.
 */
void fit_memory(const struct session *s, struct strbuf *text);
void fit_report(const struct session *s, const char *when);

/* Records the memory of the libraries. Libraries allocate when a program first runs, and
 * the driver when it is captured, so after two runs of each program the amount is final;
 * later changes are due to other programs. Does nothing before. */
void fit_settle(struct session *s);

/* device_memory of s, including the libraries' share. Returns false if it is host memory. */
bool fit_device_memory(const struct session *s, struct device_memory *m);

#endif
