/*
 * Matches images with their label maps by file name: a.jpg with a.png in another folder,
 * or a.jpg with a_mask.png (usual_stem) in another folder or in the same one.
 */
#ifndef DATASET_FILE_PAIRS_H
#define DATASET_FILE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_pairs {
    struct file_names {
        char **path; /* relative to the folder, in byte order */
        int64_t n;
        size_t cap;
    } images, labels;
    int64_t *label;   /* index of each image's label map, or -1 */
    int64_t *image;   /* index of each label map's image, or -1 */
    int64_t n;        /* number of images with a label map */
    int64_t twice[2]; /* two images with the same label map, or -1 */
};

/* Matches the files of two folders. labels: the folder of label maps; NULL: the files of
 * `images` whose names say that they are label maps. deep: includes files of subfolders. */
void file_pairs_match(struct file_pairs *m, const char *images, const char *labels,
                      bool deep);
void file_pairs_release(struct file_pairs *m);

/* True if the folder, or one of its first subfolders with images, has label maps next to
 * their images. */
bool file_pairs_are_neighbors(const char *dir);

#endif
