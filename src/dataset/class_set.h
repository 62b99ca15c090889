/*
 * Class sets: which values of label files are which classes, what the classes are called
 * and how they are painted. One table, in class_set.c; a new set is a row there, and
 * nothing else names it. `trainc help DATA.CLASS_SET` lists them.
 *
 * In every set 255 is ignored. The names, ids and colours of Cityscapes are those of
 * cityscapesScripts (helpers/labels.py), those of CamVid are SegNet's.
 */
#ifndef DATASET_CLASS_SET_H
#define DATASET_CLASS_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"

enum { LABEL_NONE = 254 }; /* in a map: no class has this value, and it is not ignored */

struct label_colours;

struct class_row {
    const char *name;
    int value; /* in a label file of ids; -1: none */
    uint8_t rgb[3];
};

struct class_set {
    const char *name;            /* DATA.CLASS_SET */
    const char *help;            /* a line for the list of sets */
    int n;                       /* outputs of the model */
    const struct class_row *row; /* of each class, then one without a name */
    int last;                    /* values up to this one that are no class are ignored */
    bool has_ids;                /* Cityscapes: label files may hold train ids instead */
    const struct label_colours *colours; /* label files hold colours, which have these
                                          * values; NULL: they hold values */
};

/* Ends with a row without a name. */
extern const struct class_set class_set_table[];

/* NULL: there is no such set, or the name is empty. */
const struct class_set *class_set_find(const char *name);

extern const struct names class_set_names;

/*
 * What each value of a label file becomes: a class, LABEL_IGNORE, or LABEL_NONE. For no
 * set (NULL) the values 0 .. classes - 1 are the classes. `train_ids`: the files hold
 * class indices already, as Cityscapes' labelTrainIds.
 */
void class_set_map(const struct class_set *s, int classes, bool train_ids,
                   uint8_t map[256]);

/* "0 to 33 and 255": the values that a map knows. */
void class_set_add_values(const uint8_t map[256], struct strbuf *out);

/* For class c; without a set "class7" in one of PASCAL VOC's colours. */
void class_set_add_name(const struct class_set *s, int c, struct strbuf *out);
void class_set_colour(const struct class_set *s, int c, uint8_t rgb[3]);

/*
 * The value that class c has in label files, for instance for Cityscapes' server, where
 * what is no class is 0.
 */
int class_set_value(const struct class_set *s, int c);

#endif
