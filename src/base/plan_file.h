/*
 * Choices for a device that take time to make, stored on disk: cuDNN's plans, cuBLASLt's
 * algorithms, and the CPU's measured kernels, one JSON file each in a folder. The file
 * name has the hash of its key, which includes everything that the choice depends on. The
 * file also contains the key and a checksum of everything else, so hash collisions and
 * foreign or damaged files are detected.
 */
#ifndef BASE_PLAN_FILE_H
#define BASE_PLAN_FILE_H

#include <jansson.h>

/* Returns "FOLDER/KIND-HASH.json" on the heap, or NULL if the folder is NULL or "". The
 * other functions treat a NULL path as a missing file, and store nothing. */
char *plan_file_path(const char *folder, const char *kind, const char *key);

/* Returns the stored object, or NULL if the file is missing or invalid. Then sets *why to
 * the reason why it is invalid, or to NULL if it is missing. */
json_t *plan_file_load(const char *path, const char *key, const char **why);

/* Creates the folder if necessary. Takes ownership of o, adding its key and checksum.
 * Failures are reported once per run. */
void plan_file_store(const char *folder, const char *path, const char *key, json_t *o);

#endif
