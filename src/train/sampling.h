/* DATA.SAMPLER: what goes with it. */
#ifndef TRAIN_SAMPLING_H
#define TRAIN_SAMPLING_H

#include "config/config.h"
#include "config/problems.h"

/* Reports keys that do not go with DATA.SAMPLER. */
void sampling_check(const struct config *cfg, struct problems *p);

#endif
