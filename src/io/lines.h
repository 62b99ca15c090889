/*
 * An append-only text file that survives kills and resumes: each line goes out in one
 * write, and opening drops a torn last line and the lines that the caller does not keep.
 * What jsonl and csv have in common.
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
 * Keeps the whole lines of the file for which `keep` (called in order, without the
 * newline) is true; keep NULL empties it. Dies if the file cannot be read or written.
 */
void lines_open(struct lines *l, const char *path,
                bool (*keep)(const char *line, void *arg), void *arg);
/* Adds the newline and empties `line`. A line that cannot be written whole is
 * not there; the first is logged, and the run goes on. */
void lines_add(struct lines *l, struct strbuf *line);
void lines_close(struct lines *l);

#endif
