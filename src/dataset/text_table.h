/*
 * Text tables with labels: CSV and TSV (RFC 4180), and JSON lines.
 *
 *   struct text_table t;
 *   if (!text_table_read(&t, "train.csv", &why))
 *       ... why.buf names the file and the line ...
 *   int label = text_table_column(&t, "label");
 *   text_table_cell(&t, row, label)
 *   text_table_release(&t);
 *
 * The first record has the column names. Quoted fields may contain separators, line ends,
 * and "" for a quote. A byte order mark and CR LF line ends are accepted. The separator
 * of a .tsv is a tab; in other files it is the most frequent of tab, comma, semicolon,
 * and | in the header. Empty lines are skipped. In JSON lines (.jsonl), strings, numbers,
 * and booleans are cells; a missing field is an empty cell.
 */
#ifndef DATASET_TEXT_TABLE_H
#define DATASET_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

struct text_table {
    const char *const *header; /* column names */
    int columns;
    int64_t rows;
    const char **cell; /* rows x columns */
    int *line;         /* line where each row begins, from 1 */
    size_t cell_cap, line_cap;
    char *text;       /* storage of CSV cells */
    struct arena mem; /* storage of the header and of JSON cells */
};

/* Returns false if the file cannot be read or is not a table. Then there is nothing to
 * release. */
bool text_table_read(struct text_table *t, const char *path, struct strbuf *why);
void text_table_release(struct text_table *t);

/* Returns the column of that name, ignoring case, or -1. */
int text_table_column(const struct text_table *t, const char *name);

static inline const char *text_table_cell(const struct text_table *t, int64_t row,
                                          int column)
{
    return t->cell[row * t->columns + column];
}

/* True if the name ends in .csv, .tsv, or .jsonl, ignoring case. */
bool text_table_has_extension(const char *path);

#endif
