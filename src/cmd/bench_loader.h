/*
 * trainc bench --loader: times the loader for `seconds` with the configured data set and
 * augmentation. Prints the result and appends it to `json` as one JSON object.
 */
#ifndef CMD_BENCH_LOADER_H
#define CMD_BENCH_LOADER_H

#include "base/strbuf.h"
#include "config/config.h"

void bench_loader(const struct config *cfg, double seconds, struct strbuf *json);

#endif
