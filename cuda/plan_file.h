/*
 * Choices for a GPU that take time to make, stored on disk: cuDNN's plans and cuBLASLt's
 * algorithms, one JSON file each in options.cache. The file name has the hash of its key,
 * which includes everything that the choice depends on. The file also contains the key
 * and a checksum of everything else, so hash collisions and foreign or damaged files are
 * detected.
 */
#ifndef CUDA_PLAN_FILE_H
#define CUDA_PLAN_FILE_H

#include <jansson.h>

#include "cuda/device.h"

/* Returns "CACHE/KIND-HASH.json" on the heap, or NULL without a folder. The other
 * functions treat a NULL path as a missing file, and store nothing. */
char *plan_file_path(const struct device *dev, const char *kind, const char *key);

/* Returns the stored object, or NULL if there is none or it is invalid; *why then gets
 * the reason, or NULL for a missing file. */
json_t *plan_file_load(const char *path, const char *key, const char **why);

/* Takes ownership of o, adding its key and checksum. Failures are reported once per run. */
void plan_file_store(const struct device *dev, const char *path, const char *key,
                     json_t *o);

#endif
