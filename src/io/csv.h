/*
 * summary.csv: a header and one row per epoch.
 *
 *   static const char *const column[] = {"epoch", "train_loss", "val_top1"};
 *   struct csv table;
 *   csv_open(&table, "summary.csv", column, 3, -1);
 *   csv_row(&table, (double[]){1, 2.3, 12.5});
 *   csv_close(&table);
 *
 * Names with commas or quotes are quoted. NaN becomes an empty cell. Numbers have the
 * fewest digits that give the same float, or the same double if they are not floats.
 * Failures are handled as in jsonl.
 */
#ifndef IO_CSV_H
#define IO_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "io/lines.h"

/* Appends trusted text as a cell: quoted if necessary (RFC 4180), and on one line. */
void csv_add_text(struct strbuf *s, const char *text);
/* The same for untrusted text (names of files, classes, or layers, configuration values,
 * command lines, messages that quote them). A cell that a spreadsheet would evaluate as a
 * formula (it begins with =, +, -, or @ and is not a number) gets a leading apostrophe,
 * as OWASP recommends. */
void csv_add_name(struct strbuf *s, const char *name);

/* Appends a comma and a score with six digits; NaN: an empty cell. */
void csv_add_score(struct strbuf *s, double x);

struct csv {
    struct lines lines;
    int columns;
    char *header;
    double *amended; /* `columns` values for each row to amend */
    int namended;
    bool failed; /* true if writing late values failed */
};

/*
 * The first column is a counter. A run that resumes after row `last` keeps the rows up to
 * it; -1 starts a new file. Dies if an existing file has other columns.
 */
void csv_open(struct csv *c, const char *path, const char *const *column, int columns,
              int64_t last);
void csv_row(struct csv *c, const double *value);
/* Sets the values of the row whose first cell is value[0]; NaN keeps the old value. Does
 * nothing if the row does not exist. If the file cannot be written (full disk), the next
 * csv_row or csv_close tries again. */
void csv_amend(struct csv *c, const double *value);
void csv_close(struct csv *c);

#endif
