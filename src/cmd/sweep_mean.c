/* Mean and deviation of the runs of a sweep that differ only in fold or seed. */
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

/* Runs with the same arguments except for the repeated keys. */
struct repeats {
    char *words; /* the arguments that they share */
    int runs, scores;
    double sum, squares; /* of differences from `first` */
    double first;
    bool loss;
};

struct table {
    struct repeats *row;
    int n, cap;
};

static bool is_repeated_key(const char *word)
{
    static const char *const key[] = {
        "DATA.FOLD=", "SEED=", "DATA.SPLIT_SEED=", "--fold=", "--seed="};

    for (size_t i = 0; i < sizeof(key) / sizeof(*key); i++)
        if (!strncmp(word, key[i], strlen(key[i])))
            return true;
    return false;
}

static char *shared_words(const struct sweep_run *r)
{
    struct strbuf words = STRBUF_INIT;

    for (int k = 0; k < r->nword; k++)
        if (!is_repeated_key(r->word[k]))
            strbuf_addf(&words, "%s%s", words.len ? " " : "", r->word[k]);
    return words.buf ? strbuf_detach(&words) : xstrdup("");
}

static struct repeats *row_of(struct table *t, char *words)
{
    for (int i = 0; i < t->n; i++)
        if (!strcmp(t->row[i].words, words)) {
            free(words);
            return &t->row[i];
        }
    GROW(t->row, t->n, t->cap);
    t->row[t->n] = (struct repeats){.words = words};
    return &t->row[t->n++];
}

static void collect(struct table *t, const struct sweep *s)
{
    for (int i = 0; i < s->grid.n; i++) {
        const struct outcome *o = &s->outcome[i];
        struct repeats *r = row_of(t, shared_words(&s->grid.run[i]));
        double d;

        r->runs++;
        if (isnan(o->value))
            continue;
        r->first = r->scores++ ? r->first : o->value;
        r->loss = o->score < 0 && o->value > 0;
        d = o->value - r->first;
        r->sum += d;
        r->squares += d * d;
    }
}

static double mean(const struct repeats *r)
{
    return r->scores ? r->first + r->sum / r->scores : (double)NAN;
}

/* Returns the sample standard deviation (n - 1), or NaN. */
static double deviation(const struct repeats *r)
{
    double rest = r->squares - r->sum * r->sum / r->scores;

    return r->scores < 2 ? (double)NAN : sqrt(fmax(rest, 0) / (r->scores - 1));
}

static int best_first(const void *a, const void *b)
{
    const struct repeats *r = a, *q = b;
    double x = r->loss ? -mean(r) : mean(r), y = q->loss ? -mean(q) : mean(q);

    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x < y) - (x > y);
}

static void print_number(double v)
{
    if (isnan(v))
        say("%-12s", "-");
    else
        say("%-12.6g", v);
}

static void print_means(const struct table *t)
{
    say("\n%-12s%-12s%-10sarguments\n", "mean", "deviation", "runs");
    for (int i = 0; i < t->n; i++) {
        const struct repeats *r = &t->row[i];

        print_number(mean(r));
        print_number(deviation(r));
        say("%d of %-5d%s\n", r->scores, r->runs, *r->words ? r->words : "(all)");
    }
}

static void write_means(const struct table *t, const struct sweep *s)
{
    struct strbuf text = STRBUF_INIT;
    char *path = path_join(s->output, "sweep_mean.csv");

    strbuf_addstr(&text, "mean,deviation,scores,runs,arguments\n");
    for (int i = 0; i < t->n; i++) {
        const struct repeats *r = &t->row[i];

        if (r->scores)
            strbuf_addf(&text, "%.8g", mean(r));
        strbuf_addch(&text, ',');
        if (r->scores > 1)
            strbuf_addf(&text, "%.8g", deviation(r));
        strbuf_addf(&text, ",%d,%d,", r->scores, r->runs);
        csv_add_name(&text, r->words);
        strbuf_addch(&text, '\n');
    }
    if (atomic_write_file(path, text.buf, text.len))
        die("cannot write '%s': %s", path, strerror(errno));
    strbuf_release(&text);
    free(path);
}

void sweep_report_means(const struct sweep *s)
{
    struct table t = {0};

    collect(&t, s);
    if (t.n < s->grid.n) {
        qsort(t.row, (size_t)t.n, sizeof(*t.row), best_first);
        print_means(&t);
        write_means(&t, s);
    }
    for (int i = 0; i < t.n; i++)
        free(t.row[i].words);
    free(t.row);
}
