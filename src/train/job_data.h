/* What of the data set the defaults of a job follow from (session/job.h). */
#ifndef TRAIN_JOB_DATA_H
#define TRAIN_JOB_DATA_H

#include "dataset/dataset.h"
#include "session/job.h"

/*
 * The images of DATA.TRAIN_SPLIT, and the sizes of some of them. If they cannot be found,
 * job.images is 0: the run's own checks say why. A list or a container that is damaged
 * ends the program, as it would when the run opens it. Logs nothing.
 */
struct job job_look(const struct config *cfg);

/* True if the classes are single letters or numbers. */
bool job_are_glyphs(const struct dataset *d);

#endif
