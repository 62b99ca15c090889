/*
 * summary.csv: a header and one row per epoch.
 *
 *   static const char *const column[] = {"epoch", "train_loss", "val_top1"};
 *   struct csv table;
 *   csv_open(&table, "summary.csv", column, 3, -1);
 *   csv_row(&table, (double[]){1, 2.3, 12.5});
 *   csv_close(&table);
 *
 * Names with commas or quotes stand in quotes. NaN is an empty cell. Numbers have as few
 * digits as give the same float, or the same double if they are not floats. Failures are
 * as for jsonl.
 */
#ifndef IO_CSV_H
#define IO_CSV_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "io/lines.h"

/* A text of ours as a cell: in quotes if need be (RFC 4180), and on one line. */
void csv_add_text(struct strbuf *s, const char *text);
/* The same of a foreign text (a name of a file, class or layer, a value of a
 * configuration, words of a command line, a message that quotes one): what a spreadsheet would take
 * for a formula (=, +, -, @ first, and no number) gets an apostrophe in front, as OWASP
 * advises. */
void csv_add_name(struct strbuf *s, const char *name);

struct csv {
    struct lines lines;
    int columns;
    char *header;
    double *late; /* columns values for each of the rows to amend */
    int lates;
    bool failed; /* to write them */
};

/*
 * The first column counts, and a run that resumes after row `last` keeps the rows up to
 * there. -1: a fresh run, an empty file. Dies if a file that is kept has other columns.
 */
void csv_open(struct csv *c, const char *path, const char *const *column, int columns,
              int64_t last);
void csv_row(struct csv *c, const double *value);
/* Puts values into the row whose first cell is value[0]; those that are NaN stay as they
 * are. Nothing if there is no such row. If the file cannot be written now (a full disk), the
 * next row, or csv_close, tries again. */
void csv_amend(struct csv *c, const double *value);
void csv_close(struct csv *c);

#endif
