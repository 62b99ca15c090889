/*
 * What the names of folders and files say about a data set: entries of the system, folders
 * of images and of label maps, splits, and which image a label map belongs to. One table
 * for all storages and for trainc init.
 */
#ifndef DATASET_USUAL_NAMES_H
#define DATASET_USUAL_NAMES_H

#include <stdbool.h>

/* True if the entry is no part of any data set: hidden (".git", ".ipynb_checkpoints"), or
 * written by a system or an archiver ("__MACOSX", "@eaDir", "Thumbs.db"). */
bool usual_is_system(const char *name);

/* True if that holds for a part of the path, "." and ".." aside. */
bool usual_path_is_system(const char *path);

enum usual_role { USUAL_OTHER, USUAL_IMAGES, USUAL_LABELS };
enum usual_split { USUAL_NO_SPLIT, USUAL_TRAIN, USUAL_VAL, USUAL_TEST };

/* "annotations_prepped_train": label maps of the split "train", and "prepped". */
struct usual_words {
    enum usual_role role;
    enum usual_split split;
    char split_word[32]; /* as written; empty: none */
    char rest[96];       /* the other words in lower case, each after a space */
    int others;          /* how many those are */
};

/* Of a folder's path in its data set, slashes included. False: it is too long to be a
 * usual one; *w is then of no role. */
bool usual_words_of(const char *path, struct usual_words *w);

/* Usual words of a kind, the most common first; NULL ends them. */
extern const char *const usual_train_words[], *const usual_val_words[],
                                                  *const usual_test_words[];

/* The name that an image and its label map have in common, without folder, extension and
 * usual endings (_leftImg8bit, _gtFine_labelIds, _L, _mask, ...) and beginnings (mask_,
 * image_, ...); a heap string. */
char *usual_stem(const char *path);

#endif
