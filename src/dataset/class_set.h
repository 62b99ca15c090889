/*
 * Class sets: which values of label files are which classes, what the classes are called
 * and how they are painted. One table, in class_set.c.
 *
 *   cityscapes19   the classes that Cityscapes evaluates (train ids 0..18)
 *   cityscapes20   the same with a 20th output for "void", as ERFNet has it; nothing is
 *                  labelled so: what is void is ignored
 *   cityscapes34   the label ids 0..33 themselves
 *   cityscapes35   and 34, for the licence plate (id -1, which a PNG cannot hold)
 *   camvid11       CamVid's 11 classes; 11 is void and ignored
 *   camvid12       the same with a 12th output for void, which is ignored as well
 *   voc21          PASCAL VOC; the borders of objects (255) are ignored
 *
 * In every set 255 is ignored. The names, ids and colours of Cityscapes are those of
 * cityscapesScripts (helpers/labels.py), those of CamVid are SegNet's.
 */
#ifndef DATASET_CLASS_SET_H
#define DATASET_CLASS_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

enum { LABEL_NONE = 254 }; /* in a map: no class has this value, and it is not ignored */

struct class_set {
    const char *name; /* DATA.CLASS_SET */
    int n;            /* outputs of the model */
    struct class_row {
        const char *name;
        int value; /* in a label file of ids; -1: none */
        uint8_t rgb[3];
    } row[36];    /* of each class */
    int last;     /* values up to this one that are no class are ignored */
    bool has_ids; /* Cityscapes: label files may hold train ids instead */
};

/* NULL: there is no such set. */
const struct class_set *class_set_find(const char *name);

/*
 * What each value of a label file becomes: a class, LABEL_IGNORE, or LABEL_NONE. For no
 * set (NULL) the values 0 .. classes - 1 are the classes. `train_ids`: the files hold
 * class indices already, as Cityscapes' labelTrainIds.
 */
void class_set_map(const struct class_set *s, int classes, bool train_ids,
                   uint8_t map[256]);

/* "0 to 33 and 255": the values that a map knows. */
void class_set_add_values(const uint8_t map[256], struct strbuf *out);

/* Of class c; without a set "class7" in one of PASCAL VOC's colours. */
void class_set_add_name(const struct class_set *s, int c, struct strbuf *out);
void class_set_colour(const struct class_set *s, int c, uint8_t rgb[3]);

/*
 * The value that class c has in label files, for instance for Cityscapes' server, where
 * what is no class is 0.
 */
int class_set_value(const struct class_set *s, int c);

#endif
