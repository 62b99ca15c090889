/*
 * What was chosen for a GPU and takes time to choose again, on disk: cuDNN's plans and
 * cuBLASLt's algorithms, one JSON file each in options.cache. Its name has the hash of
 * its key, all that the choice depends on. The key is inside too, and a checksum of
 * everything else, so that neither a collision nor a foreign or damaged file is believed.
 */
#ifndef CUDA_PLAN_FILE_H
#define CUDA_PLAN_FILE_H

#include <jansson.h>

#include "cuda/device.h"

/* "CACHE/KIND-HASH.json" on the heap; NULL: there is no folder. NULL is a file that is
 * not there for the other functions, and one that is not kept. */
char *plan_file_path(const struct device *dev, const char *kind, const char *key);

/* What was stored; NULL: nothing, or nothing sound, and *why says what is wrong then. */
json_t *plan_file_load(const char *path, const char *key, const char **why);

/* Takes o over, adding its key and the sum. What fails is told once per run. */
void plan_file_store(const struct device *dev, const char *path, const char *key,
                     json_t *o);

#endif
