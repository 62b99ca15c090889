/*
 * The "trainc" object of a checkpoint: the progress of a run, as JSON. Private to
 * checkpoint.c.
 */
#ifndef TRAIN_CHECKPOINT_STATE_H
#define TRAIN_CHECKPOINT_STATE_H

#include "io/json.h"
#include "session/session.h"
#include "train/run_state.h"

enum { CHECKPOINT_VERSION = 1 };

void checkpoint_state_put(struct strbuf *text, const struct session *s,
                          const struct run_state *r);

/* Returns -1 and a reason if no run can have this state. */
int checkpoint_state_get(const json_t *o, const struct session *s, struct run_state *r,
                         struct control *c, struct strbuf *why);

/* Append a number per class as a list; nothing if the run has none. */
void checkpoint_put_class_weights(struct strbuf *text, const struct session *s);
void checkpoint_put_thresholds(struct strbuf *text, const struct session *s);

#endif
