/* The properties of a data set that determine a job's defaults (session/job.h). */
#ifndef TRAIN_JOB_DATA_H
#define TRAIN_JOB_DATA_H

#include "dataset/dataset.h"
#include "session/job.h"

/*
 * Counts the images of DATA.TRAIN_SPLIT and inspects some of them. If the split is
 * missing, job.images is 0, and the run's own checks report why. Dies if a list or
 * container is damaged, as the run would when it opens it. Logs nothing.
 */
struct job job_look(const struct config *cfg);

/* True if the classes are single letters or numbers. */
bool job_are_glyphs(const struct dataset *d);

#endif
