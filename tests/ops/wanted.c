#include "tests/ops/wanted.h"

#include <stdlib.h>
#include <string.h>

#include "ops/reference.h"

struct entry {
    const struct op_case *row;
    enum dtype dtype;
    bool mixed, nan;
    struct wanted wanted;
};

static struct {
    struct entry **entry;
    int n, cap;
} table;

void wanted_run(struct case_run *r, const struct op_case *row,
                const struct case_options *options)
{
    static struct device *ref;
    struct case_options o = *options;

    if (!ref)
        ref = backend_ref.open(&(const struct device_options){0});
    o.dtype = DTYPE_F32;
    case_run_init(r, row, &backend_ref, ref, &o);
    for (int run = 0; run < 2; run++)
        program_run(r->program);
}

static struct entry *compute(const struct op_case *row, const struct case_options *o)
{
    struct entry *e = calloc(1, sizeof(*e));
    struct case_values *v = &e->wanted.values;
    struct case_run r;

    *e = (struct entry){.row = row, .dtype = o->dtype, .mixed = o->mixed, .nan = o->nan};
    wanted_run(&r, row, o);
    case_fetch(&r, v);
    e->wanted.nout = r.build.nout;
    for (int i = 0; i < v->n; i++) /* the names are the graph's */
        v->item[i].name = strdup(v->item[i].name);
    case_run_release(&r);
    return e;
}

const struct wanted *wanted(const struct op_case *row, const struct case_options *o)
{
    for (int i = 0; i < table.n; i++) {
        const struct entry *e = table.entry[i];

        if (e->row == row && e->dtype == o->dtype && e->mixed == o->mixed &&
            e->nan == o->nan)
            return &e->wanted;
    }
    if (table.n == table.cap) {
        table.cap = table.cap ? 2 * table.cap : 256;
        table.entry = realloc(table.entry, (size_t)table.cap * sizeof(*table.entry));
    }
    table.entry[table.n] = compute(row, o);
    return &table.entry[table.n++]->wanted;
}
