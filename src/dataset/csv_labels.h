/*
 * The label sets of a table (MODEL.TASK multilabel). Labels are in one of three forms:
 *
 *   one column of lists      "cat|dog", "cat, dog", or "cat dog"
 *   several one-hot columns  their names are the classes; 1 or true: the image has the
 *                            label; 0 or false: it does not; empty, -1, or nan: unknown
 *   several text columns     each holds a label or a list; the image has all of them
 *
 * An empty cell of a list is an image without labels. Private to src/dataset.
 */
#ifndef DATASET_CSV_LABELS_H
#define DATASET_CSV_LABELS_H

#include "base/strmap.h"
#include "dataset/csv_columns.h"
#include "dataset/dataset.h"

struct csv_labels {
    struct csv_columns columns;
    bool one_hot;
    char separator;      /* of lists */
    struct strmap class; /* name -> index + 1 */
};

/*
 * `named`: DATA.LABEL_COLUMN, a column or several names with commas between them; `*`: all
 * one-hot columns. `usual`: the column to use if it is empty, or -1: all one-hot columns.
 * `separator`: DATA.LABEL_SEPARATOR; NULL or "auto": the first of | ; , and space that
 * occurs. Returns false with a reason if there are no label columns.
 */
bool csv_labels_init(struct csv_labels *l, const struct text_table *t, const char *path,
                     const char *named, int usual, const char *separator,
                     struct strbuf *why);
void csv_labels_release(struct csv_labels *l);

/* Names the classes of d: those of classes.txt in `dir`, else all that occur, in byte
 * order; of one-hot columns the headers, in their order. */
void csv_labels_name(struct csv_labels *l, struct dataset *d, const char *dir);

/* Sets target[0 .. nclass - 1] to 0, 1, or TARGET_UNKNOWN. Ends the program if a cell makes
 * no sense. */
void csv_labels_targets(const struct csv_labels *l, int64_t row, int nclass,
                        uint8_t *target);

/* True if the cells of a column of classes look like lists of labels: lists of fewer labels
 * than there are different cells. *lists gets their number, *separator what separates them.
 * A space separates only if `spaces`: it is also in the names of classes. */
bool csv_labels_are_lists(const struct text_table *t, int column, bool spaces,
                          int64_t *lists, char *separator);

/* Warns if cells of a column of classes look like lists of labels. */
void csv_labels_warn_lists(const struct text_table *t, const char *path, int column);

#endif
