/*
 * Tables of text, as people keep labels in: CSV and TSV (RFC 4180), and JSON lines with the
 * same fields.
 *
 *   struct text_table t;
 *   if (!text_table_read(&t, "train.csv", &why))
 *       ... why.buf names the file and the line ...
 *   int label = text_table_column(&t, "label");
 *   text_table_cell(&t, row, label)
 *   text_table_release(&t);
 *
 * The first record names the columns. Fields may stand in quotes, with "" for a quote, and
 * then hold separators and line ends. A file may begin with a byte order mark, and lines may
 * end with CR LF. The separator of a .tsv is a tab; of other files it is the one of tab,
 * comma, semicolon, and | that the header has most often. Empty lines are skipped. In JSON
 * lines (.jsonl), strings, numbers, and booleans are cells; a missing field is an empty one.
 */
#ifndef DATASET_TEXT_TABLE_H
#define DATASET_TEXT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/strbuf.h"

struct text_table {
    const char *const *header; /* columns names */
    int columns;
    int64_t rows;
    const char **cell; /* rows x columns */
    int *line;         /* of each row, from 1, where it begins */
    size_t cell_cap, line_cap;
    char *text;       /* what cells of CSV point into */
    struct arena mem; /* of the header, and of cells of JSON */
};

/* False if the file cannot be read or is no table. Nothing is to be released then. */
bool text_table_read(struct text_table *t, const char *path, struct strbuf *why);
void text_table_release(struct text_table *t);

/* The column of that name, in any case; -1 if there is none. */
int text_table_column(const struct text_table *t, const char *name);

static inline const char *text_table_cell(const struct text_table *t, int64_t row,
                                          int column)
{
    return t->cell[row * t->columns + column];
}

/* True for names that end in .csv, .tsv, or .jsonl, in any case. */
bool text_table_has_extension(const char *path);

#endif
