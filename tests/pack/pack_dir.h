/* Containers of a small data set, for tests. */
#ifndef TESTS_PACK_PACK_DIR_H
#define TESTS_PACK_PACK_DIR_H

#include "dataset/table.h"
#include "pack/pack.h"

/* Creates images of 30 x 26 pixels and more in three class folders of train in a new
 * temporary folder; or images with label maps of CLASSES values, as a list. */
enum { PACK_IMAGES = 23, PACK_CLASSES = 3 };
char *make_classes(void);
char *make_label_maps(void);

/* Returns the data source of a folder. */
struct dataset_source pack_source(const char *dir, bool label_maps);

/* Packs the split "train" of `d` as `trainc pack` does, and writes classes.txt. */
struct pack_result pack_to(const char *format, const struct dataset *d, const char *dir,
                           int64_t shard, const struct pack_encoding *how);

#endif
