/* Prints the table of a sweep and writes it as CSV. */
#include "cmd/sweep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/strbuf.h"
#include "io/csv.h"

static const char *state_of(const struct sweep *s, const struct outcome *o)
{
    return o->rung > s->halvings ? "done"
           : o->last             ? "failed"
           : o->rung             ? "stopped"
                                 : "not run";
}

static void write_table(const struct sweep *s, const int *order)
{
    struct strbuf t = STRBUF_INIT;
    char *path = path_join(s->output, "sweep.csv");

    strbuf_addf(&t, "run,%s,steps,state,arguments,error\n",
                s->metric ? s->metric : "score");
    for (int i = 0; i < s->grid.n; i++) {
        const struct sweep_run *r = &s->grid.run[order[i]];
        const struct outcome *o = &s->outcome[order[i]];
        struct strbuf words = STRBUF_INIT;

        for (int k = 0; k < r->nword; k++)
            strbuf_addf(&words, "%s%s", k ? " " : "", r->word[k]);
        csv_add_name(&t, r->name);
        strbuf_addch(&t, ',');
        if (!isnan(o->value))
            strbuf_addf(&t, "%.8g", o->value);
        strbuf_addf(&t, ",%lld,%s,", (long long)o->steps, state_of(s, o));
        csv_add_name(&t, words.buf ? words.buf : "");
        strbuf_addch(&t, ',');
        csv_add_name(&t, o->last ? o->last : "");
        strbuf_addch(&t, '\n');
        strbuf_release(&words);
    }
    if (atomic_write_file(path, t.buf, t.len))
        die("cannot write '%s': %s", path, strerror(errno));
    strbuf_release(&t);
    free(path);
}

static void print_table(const struct sweep *s, const int *order)
{
    say("%-12s %10s %-8s run\n", s->metric ? s->metric : "score", "steps", "state");
    for (int i = 0; i < s->grid.n; i++) {
        const struct outcome *o = &s->outcome[order[i]];

        if (isnan(o->value))
            say("%-12s", "-");
        else
            say("%-12.6g", o->value);
        say(" %10lld %-8s %s%s%s\n", (long long)o->steps, state_of(s, o),
            s->grid.run[order[i]].name, o->last ? ": " : "", o->last ? o->last : "");
    }
}

int sweep_report(const struct sweep *s)
{
    int *order = xcalloc((size_t)s->grid.n + 1, sizeof(*order)), failed = 0;

    for (int i = 0; i < s->grid.n; i++) {
        order[i] = i;
        failed += s->outcome[i].last != NULL;
    }
    qsort_r(order, (size_t)s->grid.n, sizeof(*order), sweep_by_score,
            (void *)(uintptr_t)s);
    print_table(s, order);
    write_table(s, order);
    sweep_report_means(s);
    free(order);
    return failed ? EXIT_FAILED : EXIT_OK;
}
