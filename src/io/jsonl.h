/*
 * metrics.jsonl: one JSON object per line, appended during the run.
 *
 *   struct jsonl log;
 *   jsonl_open(&log, "metrics.jsonl", "step", -1);
 *   struct json_writer *w = jsonl_begin(&log);
 *   json_put_int(w, "step", 100);
 *   json_put_float(w, "loss", 2.3f);
 *   jsonl_end(&log);
 *   jsonl_close(&log);
 *
 * Each line is written when it ends. The first failed write is logged, and the run
 * continues; opening dies on failure.
 */
#ifndef IO_JSONL_H
#define IO_JSONL_H

#include <stdint.h>

#include "io/json.h"
#include "io/lines.h"

struct jsonl {
    struct lines lines;
    struct json_writer writer;
    struct strbuf line;
};

/*
 * A run that resumes after `last` (a step, for example) keeps the lines whose integer
 * `key` is at most `last` and drops the others, which will be written again. A new run
 * passes -1 and starts with an empty file.
 */
void jsonl_open(struct jsonl *j, const char *path, const char *key, int64_t last);
struct json_writer *jsonl_begin(struct jsonl *j); /* inside the line's object */
void jsonl_end(struct jsonl *j);
void jsonl_close(struct jsonl *j);

#endif
