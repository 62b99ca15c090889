/*
 * trainc bench --ops: the rows of the op table (cases/cases.h) in their larger size on
 * one backend. A kernel that computes little moves memory: its bytes per second are
 * compared with those of a copy in the same run, of which it should reach 85 %. On the
 * CPU it should reach 80 %, and a bare loop that loads and stores the same bytes
 * alternates with each step (cases/op_bench.h), which shows how much the arithmetic
 * costs.
 */
#ifndef CMD_BENCH_OPS_H
#define CMD_BENCH_OPS_H

#include "base/strbuf.h"
#include "graph/backend.h"

struct bench_ops {
    const char *pattern; /* selects rows by name, as a shell does; NULL: all */
    int64_t batch;       /* of each row; 0: as it says, and 16 times that on a GPU */
    struct strbuf *json; /* gets the same as JSON */
};

bool bench_ops_match(const char *pattern); /* has the table such a row? */
void bench_ops(const struct backend *backend, struct device *dev,
               const struct bench_ops *o);

#endif
