/*
 * An append-only text file that survives kills and resumes: each line is a single write,
 * and opening drops an incomplete last line and the lines that the caller does not keep.
 * Shared by jsonl and csv.
 */
#ifndef IO_LINES_H
#define IO_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

struct lines {
    char *path;
    int fd;
    int64_t lost; /* lines that could not be written */
};

/*
 * Keeps the complete lines for which `keep` (called in order, without the newline)
 * returns true; keep NULL empties the file. Dies if the file cannot be read or written.
 */
void lines_open(struct lines *l, const char *path,
                bool (*keep)(const char *line, void *arg), void *arg);
/* Adds the newline, writes `line`, and empties it. A line that cannot be written
 * completely is removed; the first failure is logged, and the run continues. */
void lines_add(struct lines *l, struct strbuf *line);
void lines_close(struct lines *l);

#endif
