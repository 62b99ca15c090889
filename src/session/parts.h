/*
 * What the files of a session share. Private to them: programs.c and
 * state.c, above them step.c and fit.c, and session.c on top.
 */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include "session/session.h"

/* The training programs, with mixing or not as s->mixing says. */
void session_compile_train(struct session *s);
void session_drop_program(struct session *s, enum session_program which);

/* Grows the memory of all programs to what they need, and tells them where it is. */
void session_bind(struct session *s);

/* Whether the EMA is in host memory: if that is wanted, or if no program computes one. */
bool session_ema_on_host(const struct session *s);

/* A batch of any of the programs, pixels and labels, in bytes. */
size_t session_slot_size(const struct session *s);

/* Where the EMA lies on the device that an evaluation reads. */
void *session_ema(const struct session *s);

/* Bytes of a flat array: of all weights, or of moments. */
size_t session_flat_bytes(const struct session *s, enum memory m);

/* On the device, at `from`. Waits for it. */
struct metrics session_get_metrics(const struct session *s, const void *from);

#endif
