/*
 * What a checkpoint holds of a session, copied to the host and back: control, metrics,
 * and the flat arrays of weights, moments and EMA. Each of them waits for the device.
 */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include "session/session.h"

/* Training's metrics grow until they are set again. */
struct control session_control(const struct session *s);
struct metrics session_metrics(const struct session *s);
void session_set_metrics(struct session *s, const struct metrics *m);

/* Host copies of flat arrays: weights_len floats (moments: trained_len). */
void session_get(const struct session *s, enum memory m, float *dst);
void session_set(struct session *s, enum memory m, const float *src);
/* How many flat arrays of moments there are: the most that one of its optimizers has. */
int session_moments(const struct session *s);
/* What the other processes do while one calls session_get for all moments, of which each
 * has a share (DIST.SHARD_OPTIMIZER). */
void session_lend_moments(const struct session *s);
void session_set_control(struct session *s, const struct control *c);
/* The constants of training, in the order of session_flat(): constant_len floats. Packed
 * copies follow. */
void session_set_constants(struct session *s, const float *src);
/* After session_set: packed copies follow; at O3 the weights are rounded first. */
void session_refresh(struct session *s);

#endif
