/*
 * Paths of the files that trainc caches about a data set: indexes, decoded images, class
 * counts. Their folder is the user's, not the data set's, and their name is
 * NAME-DATA-KEYENDING, where DATA is a hash of the real path of the data set. If the two
 * folders are the same, the name is .trainc-NAME-KEYENDING. A file of that name in the
 * data set's folder is also read: earlier versions wrote it there, and several users may
 * share it.
 *
 *   struct keep k = {.data = "/data/photos", .dir = cache_dir("auto")};
 *   struct keep_paths p = keep_paths(&k, "index", key, "");
 *   load(p.user) || load(p.data) || (make(), keep_write(&p, bytes, len));
 *   keep_paths_release(&p);
 *
 * Treat existing files as hostile: readers validate what they read. Private to
 * src/dataset, except for struct keep.
 */
#ifndef DATASET_KEEP_H
#define DATASET_KEEP_H

#include <stddef.h>
#include <stdint.h>

struct keep {
    const char *data; /* DATA.DATA_PATH */
    const char *dir;  /* DATA.INDEX_DIR; NULL or empty: no caching */
};

/* user: the file in the cache folder, NULL without caching. data: the file in the data
 * set's folder, NULL if it is the same. Heap strings. */
struct keep_paths {
    char *user, *data;
};

struct keep_paths keep_paths(const struct keep *k, const char *name, uint64_t key,
                             const char *ending);
void keep_paths_release(struct keep_paths *p);

/* Creates the folder of p->user. Returns -1 and sets errno on failure. */
int keep_make_folder(const struct keep_paths *p);

/* Writes p->user. On failure logs a message, once per folder. */
void keep_write(const struct keep_paths *p, const void *bytes, size_t len);

#endif
