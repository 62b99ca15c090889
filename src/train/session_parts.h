/* What session.c, session_state.c and step.c share. Private to them. */
#ifndef TRAIN_SESSION_PARTS_H
#define TRAIN_SESSION_PARTS_H

#include "train/step.h"

/* Where the average lies on the device that an evaluation reads. */
void *session_average(const struct session *s);

/* Bytes of a flat array: of all weights, or of moments. */
size_t session_flat_bytes(const struct session *s, enum memory m);

/* On the device, at `from`. Waits for it. */
struct metrics session_get_metrics(const struct session *s, const void *from);

#endif
