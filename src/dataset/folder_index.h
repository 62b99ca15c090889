/*
 * The file list of DATA.DATASET folder, cached so that later runs need not read all
 * folders: "index" of keep.h, with a hash of the split's name and the image extensions as
 * its key. It is valid as long as the class folders are the same and no folder below has
 * changed (creating, removing, or renaming a file changes a folder; modifying a file does
 * not). If a folder is less than two seconds old, no index is written, since the folder
 * could change again without a change of its timestamp. A damaged index is rebuilt, with
 * a warning. Private to src/dataset.
 */
#ifndef DATASET_FOLDER_INDEX_H
#define DATASET_FOLDER_INDEX_H

#include "dataset/folder.h"
#include "dataset/keep.h"
#include "dataset/table.h"

struct keep_paths folder_index_paths(const struct dataset_source *s);

/* Call after folder_find_classes(). Adds all files and warns about skipped ones. Returns
 * false if there is no index (path may be NULL) or if it is out of date. */
bool folder_index_load(struct folder *f, const char *path);
void folder_index_save(const struct folder *f, const struct keep_paths *paths);

#endif
