/*
 * Which files a folder of classes has, kept in a file, so that a second start need not
 * read all of its folders: "index" of keep.h, its key a hash of the split's name and of
 * which files are images. It counts as long as the class folders are the same and
 * none of the folders below has changed (a file that is made, removed or renamed in it is
 * a change; what is in the file is not). A folder that is younger than two seconds may
 * still change within the same tick of its clock, and then nothing is kept. A damaged
 * index is made anew, which the log tells.
 * Private to src/dataset.
 */
#ifndef DATASET_FOLDER_INDEX_H
#define DATASET_FOLDER_INDEX_H

#include "dataset/folder.h"
#include "dataset/keep.h"
#include "dataset/table.h"

struct keep_paths folder_index_paths(const struct dataset_source *s);

/* After folder_find_classes(): all files, and the warning of those that are left out.
 * False: there is no index (path may be NULL), or not of what is there now. */
bool folder_index_load(struct folder *f, const char *path);
void folder_index_save(const struct folder *f, const struct keep_paths *paths);

#endif
