/*
 * MODEL.TEACHER: the weights of the teacher that a distillation loss uses. They are
 * constants of the training program: loaded at every start, and not saved in checkpoints.
 */
#ifndef TRAIN_TEACHER_H
#define TRAIN_TEACHER_H

#include "session/session.h"

/*
 * Loads the teacher, if the run has one, raw or EMA as in train/raw_or_ema.h; call
 * after session_alloc. Dies if the file cannot be read or lacks one of the net's tensors.
 */
void teacher_load(struct session *s);

#endif
