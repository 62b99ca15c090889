/*
 * Data sets that hold the raw pixels of all images, of one size, in a few files: what
 * cifar.c and mnist.c share. The files stay in memory. A sample is read as a PGM or PPM
 * file. Private to src/dataset.
 *
 *   struct array_images *a = array_images_new("/data/mnist", w, h, 1);
 *   int file = array_images_add_file(a, path, memory);
 *   array_images_add(a, file, pixels, label);
 *   return &a->base;
 */
#ifndef DATASET_ARRAY_IMAGES_H
#define DATASET_ARRAY_IMAGES_H

#include "dataset/table.h"

struct array_images {
    struct dataset base;
    int w, h, channels; /* 1, or 3 in planes: all red values come first */
    struct array_image {
        const uint8_t *pixels; /* in the memory of its file */
        int32_t label;
        int file, number; /* of the image in its file, from 0 */
    } * image;
    size_t cap;
    struct array_file {
        char *path;
        void *memory;
        int images;
    } * file;
    size_t files, file_cap;
};

/* `name` is the data set's; copied. */
struct array_images *array_images_new(const char *name, int w, int h, int channels);
/* Returns the index of the file. Takes over `memory`, which is freed with the data set. */
int array_images_add_file(struct array_images *a, const char *path, void *memory);
void array_images_add(struct array_images *a, int file, const uint8_t *pixels,
                      int32_t label);
/* Dies if a label is not below the number of classes, naming file and image. */
void array_images_check_labels(const struct array_images *a);

enum array_split { ARRAY_TRAIN, ARRAY_TEST, ARRAY_UNKNOWN };
/* The data sets have two splits, "train" and one for validation or test, under any of its
 * usual names. */
enum array_split array_images_split(const struct dataset_source *s);

#endif
