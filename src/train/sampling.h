/* Checks DATA.SAMPLER. */
#ifndef TRAIN_SAMPLING_H
#define TRAIN_SAMPLING_H

#include "config/config.h"
#include "config/problems.h"

/* Reports keys that cannot be combined with DATA.SAMPLER. */
void sampling_check(const struct config *cfg, struct problems *p);

#endif
