/*
 * A data set: samples 0 .. n-1, each the bytes of one picture and a class, or of one
 * picture and its label picture (segmentation). One file of this folder a storage; the
 * loader knows only what is here.
 *
 *   struct dataset *d = folder_open("imagenet/train");
 *   dataset_read(d, i, limit, &bytes, &why);
 *   dataset_close(d);
 *
 * Reading is thread-safe. Whatever is wrong with the storage as a whole (no such folder,
 * an empty class) ends the program when it is opened, with the place; what is wrong with
 * one sample is a reason that dataset_read returns.
 */
#ifndef DATASET_DATASET_H
#define DATASET_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "image/label.h" /* LABEL_IGNORE */

/* A buffer that grows and is used again. */
struct dataset_bytes {
    uint8_t *data;
    size_t len, cap;
};

void dataset_bytes_release(struct dataset_bytes *b);

struct dataset {
    const struct dataset_type *type;
    char *name; /* for messages: the folder or the file */
    int64_t n;
    int nclass;
    char **class_name; /* in the order of the labels */

    /* With label pictures: how they are painted, and what their values mean. */
    const struct class_set *set; /* NULL: none of the table */
    uint8_t map[256];            /* class_set_map */
};

struct dataset_type {
    const char *name;
    int32_t (*label)(const struct dataset *d, int64_t i);
    /* At most `limit` bytes; -1 and a reason without the sample's name. */
    int (*read)(const struct dataset *d, int64_t i, int64_t limit,
                struct dataset_bytes *out, struct strbuf *why);
    /* Where the sample lies, for messages: "train/cat/3.jpg". */
    void (*describe)(const struct dataset *d, int64_t i, struct strbuf *name);
    void (*close)(struct dataset *d);
    /* NULL: a class for each picture. */
    int (*read_label)(const struct dataset *d, int64_t i, int64_t limit,
                      struct dataset_bytes *out, struct strbuf *why);
    void (*describe_label)(const struct dataset *d, int64_t i, struct strbuf *name);
    bool (*stamp_label)(const struct dataset *d, int64_t i, struct strbuf *out);
};

int32_t dataset_label(const struct dataset *d, int64_t i);
int dataset_read(const struct dataset *d, int64_t i, int64_t limit,
                 struct dataset_bytes *out, struct strbuf *why);
void dataset_describe(const struct dataset *d, int64_t i, struct strbuf *name);
void dataset_close(struct dataset *d); /* NULL is fine */

/* Label pictures: class values in the files' own terms, see d->map. */
bool dataset_has_labels(const struct dataset *d);
int dataset_read_label(const struct dataset *d, int64_t i, int64_t limit,
                       struct dataset_bytes *out, struct strbuf *why);
void dataset_describe_label(const struct dataset *d, int64_t i, struct strbuf *name);
/* Appends name, size and time of the label file's last change. False: there is none. */
bool dataset_stamp_label(const struct dataset *d, int64_t i, struct strbuf *out);

/*
 * ImageFolder: dir/CLASS/.../FILE, at any depth, links followed. Classes are the folders
 * of `dir` in byte order (torchvision's order; timm's natural order puts class2 before
 * class10), samples follow class by class in byte order of their paths. Images are told
 * by their names (image_has_extension). Hidden files and folders are passed over; what
 * else is left out is noted in the log. A class folder without an image is an error.
 */
struct dataset *folder_open(const char *dir);

/* For walks over folders: ends the program where links go around. */
void dataset_check_depth(const char *path, int depth);

/* What the values of label pictures mean. */
struct label_options {
    const struct class_set *set; /* NULL: values 0 .. classes - 1 */
    int classes;
    const char *const *names; /* of each class; NULL: those of the set */
    bool train_ids; /* Cityscapes: *_labelTrainIds.png in place of *_labelIds.png */
};

/*
 * Cityscapes: root/leftImg8bit/SPLIT/CITY/NAME_leftImg8bit.png (or .jpg) and
 * root/gtFine/SPLIT/CITY/NAME_gtFine_labelIds.png, joined by CITY/NAME, in byte order. A
 * picture without its label, or a label without its picture, ends the program.
 */
struct dataset *cityscapes_open(const char *root, const char *split,
                                const struct label_options *o);

/*
 * List files below root: SPLIT.txt with "image label" on each line, or, if that is not
 * there, SPLITImages.txt and SPLITLabels.txt with a name on each line. Names are paths
 * below root, or start with a slash; a name with spaces needs a tab between the two.
 * Empty lines and lines that start with # do not count.
 *
 * All files must be there. Names are compared without folder, extension and the usual
 * endings (_leftImg8bit, _gtFine_labelIds, _L, _mask, ...). If an image's label stands on
 * another line, the lists are shifted, and the program ends with both lines.
 */
struct dataset *list_open(const char *root, const char *split,
                          const struct label_options *o);

/*
 * PASCAL VOC: root/ImageSets/Segmentation/SPLIT.txt names the pictures, one a line: NAME
 * is root/JPEGImages/NAME.jpg and root/SegmentationClass/NAME.png. All must be there.
 */
struct dataset *voc_open(const char *root, const char *split,
                         const struct label_options *o);

/*
 * Pictures without files, for runs that only try whether things work: noise around a
 * colour of the class (sample index modulo `classes`) or, with label pictures, fields of
 * all classes. What is in sample i is a function of `split`, the size and i.
 */
struct synthetic_options {
    const char *name; /* of the split, for messages */
    uint32_t split;   /* other splits, other noise */
    int64_t samples;
    int classes, size; /* pixels a side, or with `height` of the width */
    int height;        /* 0: size */
    bool labels;       /* label pictures; classes at most 254 */
};

struct dataset *synthetic_open(const struct synthetic_options *o);

/*
 * Class lists must be equal, in a checkpoint and between splits: a class index would mean
 * something else. False and a sentence with the classes that only `a` or only `b` has,
 * called by the two names.
 */
bool dataset_same_classes(const char *a_name, const char *const *a, int na,
                          const char *b_name, const char *const *b, int nb,
                          struct strbuf *why);

/* Ends the program if the two data sets have different classes. */
void dataset_check_classes(const struct dataset *a, const struct dataset *b);

#endif
