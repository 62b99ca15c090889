/*
 * Shared by the files of a session and private to them: programs.c and state.c, above
 * them step.c and fit.c, and session.c on top.
 */
#ifndef SESSION_PARTS_H
#define SESSION_PARTS_H

#include "session/session.h"

/* True for the programs that train only the head. */
bool session_holds(enum session_program index);

/* Runs the program of batch norm statistics and copies those of the batch, in the order of
 * the buffers. Waits for the device. */
void session_stats_lent(struct session *s, const struct lent_batch *b, float *stats);

/* Compiles the training programs, with mixup and cutmix if s->mixing, and with s->phases
 * those of the head. */
void session_compile_train(struct session *s);
void session_drop_program(struct session *s, enum session_program index);

/* Grows the memory of all programs to the size they need and gives them its address. */
void session_bind(struct session *s);

/* True if the EMA is in host memory: by configuration, or because no program computes
 * one. */
bool session_ema_on_host(const struct session *s);

/* Returns the input of a program that holds this array of a batch; NULL if the program does
 * not read it. */
const struct tensor *session_batch_array(const struct build *b, enum batch_array index);

/* Returns the largest batch (pixels, labels, ...) of any program in bytes. */
size_t session_slot_size(const struct session *s);

/* Returns the address of the EMA that an evaluation on the device reads. */
void *session_ema(const struct session *s);

/* Returns the layout on the device: with DIST.SHARD_EXPERTS that of this process, whereas
 * session_flat() has all experts. */
const struct flat *session_device_flat(const struct session *s);
/* Returns the bytes of a flat array on the device: all weights, or moments. */
size_t session_flat_bytes(const struct session *s, enum memory m);
/* Copy a flat array in the layout of the device, which a host EMA has, too. Without moments
 * of which each process stores a share. */
void session_copy(const struct session *s, enum memory m, float *dst);
void session_put(struct session *s, enum memory m, const float *src);

/* Copies metrics from the device address `src`. Waits for it. */
struct metrics session_get_metrics(const struct session *s, const void *src);

#endif
