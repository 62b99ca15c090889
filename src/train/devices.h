/*
 * The one table of backends. DEVICE auto is the best that this machine has.
 */
#ifndef TRAIN_DEVICES_H
#define TRAIN_DEVICES_H

#include "graph/backend.h"

extern const struct backend *const device_table[]; /* best first; NULL ends it */

/*
 * The backend that DEVICE names: "auto", "cpu", "ref", "cuda", "cuda:1". *index gets the
 * number behind the colon, or 0. Dies if this build does not have it.
 */
const struct backend *device_find(const char *device, int *index);

#endif
