/*
 * trainc bench --loader: the speed of the loader alone, with the configured data and
 * augmentation, timed for `seconds`. Some printed lines, and the same numbers as one JSON
 * object, appended to `json`.
 */
#ifndef CMD_BENCH_LOADER_H
#define CMD_BENCH_LOADER_H

#include "base/strbuf.h"
#include "config/config.h"

void bench_loader(const struct config *cfg, double seconds, struct strbuf *json);

#endif
