/* Reads a CSV file of trainc (RFC 4180); cells are strings. */
#ifndef PAGE_TABLE_H
#define PAGE_TABLE_H

#include <stdbool.h>

struct table {
    char *text;        /* the cells point into it */
    const char **cell; /* [rows * columns]; the first row is the header */
    int rows, columns;
};

/* Returns false and an empty table if the file cannot be read, or its rows differ in
 * length. */
bool table_read(struct table *t, const char *dir, const char *name);
void table_release(struct table *t);

/* Row 0 is the header. Returns "" if column is -1. */
const char *table_cell(const struct table *t, int row, int column);
int table_column(const struct table *t, const char *name);       /* -1 if missing */
double table_number(const struct table *t, int row, int column); /* NaN if not a number */

#endif
