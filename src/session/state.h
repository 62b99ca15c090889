/*
 * Copies a session's checkpoint state to the host and back: control, metrics, and the
 * flat arrays of weights, moments, and EMA. Each call waits for the device.
 */
#ifndef SESSION_STATE_H
#define SESSION_STATE_H

#include "session/session.h"

/* Training's metrics accumulate until they are set. */
struct control session_control(const struct session *s);
struct metrics session_metrics(const struct session *s);
void session_set_metrics(struct session *s, const struct metrics *m);

/* Copies a flat array, in the layout of session_flat(), to the host: weights_len floats
 * (moments: trained_len). With DIST.SHARD_EXPERTS, all processes call session_get. */
void session_get(const struct session *s, enum memory m, float *dst);
void session_set(struct session *s, enum memory m, const float *src);
/* Returns the number of moment arrays: the maximum over the session's optimizers. */
int session_moments(const struct session *s);
/* Called by all other processes while one copies everything with session_get: weights, the
 * EMA if there is one, then moments. Each process may store only a share of the moments
 * (DIST.SHARD_OPTIMIZER), or of the experts (DIST.SHARD_EXPERTS). */
void session_lend(const struct session *s);
void session_set_control(struct session *s, const struct control *c);
/* Sets the constants of training, in the order of session_flat(): constant_len floats.
 * Updates packed copies. */
void session_set_constants(struct session *s, const float *src);
/* Call after session_set: updates packed copies; at O3 rounds the weights first. */
void session_refresh(struct session *s);

#endif
