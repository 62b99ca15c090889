/*
 * Where files lie that trainc keeps about a data set, so that a later start need not make
 * them again: indices, decoded images, counts of classes. They go to a folder of the user,
 * not of the data, as NAME-DATA-KEYENDING, DATA a hash of the real path of the data's folder;
 * if the two folders are the same, as .trainc-NAME-KEYENDING. What lies beside the data under
 * that name is read, too: earlier versions kept it there, and it may be shared by many.
 *
 *   struct keep k = {.data = "/data/photos", .dir = cache_dir("auto")};
 *   struct keep_paths p = keep_paths(&k, "index", key, "");
 *   load(p.own) || load(p.beside) || (make(), keep_write(&p, bytes, len));
 *   keep_paths_release(&p);
 *
 * Files of others are hostile: readers check what they find. Private to src/dataset, but
 * for struct keep.
 */
#ifndef DATASET_KEEP_H
#define DATASET_KEEP_H

#include <stddef.h>
#include <stdint.h>

struct keep {
    const char *data; /* DATA.DATA_PATH */
    const char *dir;  /* DATA.INDEX_DIR; NULL or empty: nothing is kept */
};

/* Heap strings or NULL: nothing is kept; the same as `own`. */
struct keep_paths {
    char *own, *beside;
};

struct keep_paths keep_paths(const struct keep *k, const char *name, uint64_t key,
                             const char *ending);
void keep_paths_release(struct keep_paths *p);

/* Makes the folder of p->own. -1 with errno. */
int keep_make_folder(const struct keep_paths *p);

/* Writes p->own, or notes once for each folder that this cannot be. */
void keep_write(const struct keep_paths *p, const void *bytes, size_t len);

#endif
