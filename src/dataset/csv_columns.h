/*
 * The columns of a table that DATA.LABEL_COLUMN names: label columns (csv_labels.h) or
 * targets (csv_values.h).
 */
#ifndef DATASET_CSV_COLUMNS_H
#define DATASET_CSV_COLUMNS_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "dataset/text_table.h"

struct csv_columns {
    const struct text_table *table;
    const char *path; /* of the table, for messages */
    int *column, n;   /* room for all columns of the table */
};

/* Adds a column unless it is there already. */
void csv_columns_add(struct csv_columns *c, int column);
/* Adds the columns named in a list with commas; false with a reason if one is missing. */
bool csv_columns_add_named(struct csv_columns *c, const char *named, struct strbuf *why);

#endif
