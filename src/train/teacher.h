/*
 * MODEL.TEACHER: the weights of the net that a loss learns from. They are constants of
 * the training program: read at every start, and in no checkpoint.
 */
#ifndef TRAIN_TEACHER_H
#define TRAIN_TEACHER_H

#include "session/session.h"

/*
 * After session_alloc, if the run has a teacher: its EMA weights if the file has some.
 * Dies if the file cannot be read, or lacks one of the net's tensors, naming it.
 */
void teacher_load(struct session *s);

#endif
