/*
 * Class sets map the values of label files to classes, and give classes their names and
 * colors. All sets are rows of one table in class_set.c; no other code names them.
 * `trainc help DATA.CLASS_SET` lists them.
 *
 * Value 255 is ignored in every set. The names, ids, and colors of Cityscapes are from
 * cityscapesScripts (helpers/labels.py), those of CamVid from SegNet. class_set_rows.h has
 * the large sets.
 */
#ifndef DATASET_CLASS_SET_H
#define DATASET_CLASS_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/names.h"

enum { LABEL_NONE = 254 }; /* in a map: neither a class nor ignored */

struct label_colors;

struct class_row {
    const char *name;
    int value; /* value in a label file of ids, or -1 */
    uint8_t rgb[3];
};

struct class_set {
    const char *name;            /* DATA.CLASS_SET */
    const char *help;            /* one line for the list of sets */
    int n;                       /* outputs of the model */
    const struct class_row *row; /* the classes, then a row without a name */
    int last;                    /* values up to this one that are not a class are
                                  * ignored */
    bool has_ids;                /* Cityscapes: label files may have train ids instead */
    bool spread; /* the classes have the colors of PASCAL VOC's color map, from 1 on */
    const char
        *files; /* a pattern of the paths of its images, for trainc init; or NULL */
    int least;  /* the largest value of its label files is at least this one */
    const struct label_colors *colors; /* values of the colors in label files; NULL:
                                          * label files have values */
};

/* The last row has no name. */
extern const struct class_set class_set_table[];

/* Returns NULL if there is no such set or the name is empty. */
const struct class_set *class_set_find(const char *name);

/* Returns the set whose images have such paths, any case, and label files with values up
 * to `top`, or NULL. */
const struct class_set *class_set_of_files(const char *path, int top);

extern const struct names class_set_names;

/*
 * Fills `map`: each value of a label file becomes a class, LABEL_IGNORE, or LABEL_NONE.
 * Without a set (NULL), values 0 to classes - 1 are the classes. `train_ids`: files hold
 * class indices already, as Cityscapes' labelTrainIds do.
 */
void class_set_map(const struct class_set *s, int classes, bool train_ids,
                   uint8_t map[256]);

/* Appends the values that the map accepts, such as "0 to 33 and 255". */
void class_set_add_values(const uint8_t map[256], struct strbuf *out);

/* Name and color of class c. Without a set: "class7", and a color of PASCAL VOC's color
 * map. */
void class_set_add_name(const struct class_set *s, int c, struct strbuf *out);
void class_set_color(const struct class_set *s, int c, uint8_t rgb[3]);

/*
 * Returns the value of class c in label files, as Cityscapes' server expects it; 0 if the
 * class has none.
 */
int class_set_value(const struct class_set *s, int c);

#endif
