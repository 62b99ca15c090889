/*
 * The targets of a table of numbers (MODEL.TASK regression): one or several columns, whose
 * headers are the targets' names. Every cell must be a finite number. Private to
 * src/dataset.
 */
#ifndef DATASET_CSV_VALUES_H
#define DATASET_CSV_VALUES_H

#include "dataset/csv_columns.h"
#include "dataset/dataset.h"

struct csv_values {
    struct csv_columns columns;
};

/* Columns of a table that cannot be targets by themselves, -1: none. */
struct csv_others {
    int image, split, weight;
};

/*
 * `named`: DATA.LABEL_COLUMN, a column or several names with commas between them; `*`: all
 * columns of numbers. `usual`: the column to use if it is empty, or -1: all columns of
 * numbers except those of `others` and columns that count rows (id, index). Returns false
 * with a reason if there is no such column.
 */
bool csv_values_init(struct csv_values *v, const struct text_table *t, const char *path,
                     const char *named, int usual, const struct csv_others *others,
                     struct strbuf *why);
void csv_values_release(struct csv_values *v);

/* Names the targets of d by their columns. */
void csv_values_name(const struct csv_values *v, struct dataset *d);

/* Sets target[0 .. n - 1]. Ends the program if a cell is no number, naming file and line. */
void csv_values_targets(const struct csv_values *v, int64_t row, float *target);

/* True if the columns hold numbers that cannot be classes; for init. Appends the reason. */
bool csv_values_are_no_classes(const struct csv_values *v, struct strbuf *why);

#endif
