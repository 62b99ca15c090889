/* The properties of a data set that determine a job's defaults (session/job.h). */
#ifndef TRAIN_JOB_DATA_H
#define TRAIN_JOB_DATA_H

#include "dataset/dataset.h"
#include "session/job.h"

/*
 * A folder of class folders without splits: sets DATA.TRAIN_SPLIT to '' and
 * DATA.VAL_FRACTION; a folder whose only split is DATA.TRAIN_SPLIT: sets
 * DATA.VAL_FRACTION. Keeps DATA.VAL_FRACTION and DATA.FOLD if one of them is set. Does
 * nothing if DATA.TRAIN_SPLIT or DATA.VAL_SPLIT is set, or unless defaults follow from the
 * job.
 */
void job_preset_splits(struct config *cfg);

/* Returns the share of the images that is set aside for validation: a fifth, a tenth of
 * 2,000 images or more, 0 of fewer than 10. */
double job_val_fraction(int64_t images);

/*
 * Counts the images of DATA.TRAIN_SPLIT and inspects some of them. If the split is
 * missing, job.images is 0, and the run's own checks report why. Dies if a list or
 * container is damaged, as the run would when it opens it. Logs nothing.
 */
struct job job_look(const struct config *cfg);

/* True if the classes are single letters or numbers. */
bool job_are_glyphs(const struct dataset *d);

#endif
