/*
 * trainc bench --loader: the speed of the loader alone, with the configured data and
 * augmentation, timed for `seconds`. One printed line, and the same numbers as one JSON object at `json`
 * (NULL: no file). Returns the exit code.
 */
#ifndef CMD_BENCH_LOADER_H
#define CMD_BENCH_LOADER_H

#include "config/config.h"

int bench_loader(const struct config *cfg, double seconds, const char *json);

#endif
