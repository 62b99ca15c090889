/*
 * Interprets the names of folders and files: system entries, folders of images and of
 * label maps, splits, and the label map of an image. Used by all storages and trainc
 * init.
 */
#ifndef DATASET_USUAL_NAMES_H
#define DATASET_USUAL_NAMES_H

#include <stdbool.h>

/* True if the entry is not data: hidden (".git", ".ipynb_checkpoints"), or written by an
 * operating system or archiver ("__MACOSX", "@eaDir", "Thumbs.db"). */
bool usual_is_system(const char *name);

/* True if a component of the path is such an entry, except "." and "..". */
bool usual_path_is_system(const char *path);

enum usual_role { USUAL_OTHER, USUAL_IMAGES, USUAL_LABELS };
enum usual_split { USUAL_NO_SPLIT, USUAL_TRAIN, USUAL_VAL, USUAL_TEST };

/* Words of a path: "annotations_prepped_train" is label maps of split "train", with the
 * other word "prepped". */
struct usual_words {
    enum usual_role role;
    enum usual_split split;
    char split_word[32]; /* as written; may be empty */
    char rest[96];       /* other words in lower case, each after a space */
    int others;          /* number of words in `rest` */
};

/* Parses the path of a folder within a data set. Returns false, without a role, if the
 * name cannot be a usual one. */
bool usual_words_parse(const char *path, struct usual_words *w);

/* Usual words of a kind, the most common first, terminated by NULL. */
extern const char *const usual_train_words[], *const usual_val_words[],
                                                  *const usual_test_words[];

/* Returns the name that an image and its label map share, a heap string: without folder,
 * extension, and usual suffixes (_leftImg8bit, _gtFine_labelIds, _L, _mask, ...) and
 * prefixes (mask_, image_, ...). Sets *role, unless it is NULL, to what these say of the
 * file. */
char *usual_stem(const char *path, enum usual_role *role);

#endif
