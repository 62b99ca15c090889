#include "cmd/bench_tune.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/median.h"
#include "base/say.h"
#include "cmd/bench_side.h"
#include "cpu/device.h"
#include "cpu/kernel_table.h"
#include "cpu/kernels.h"

enum {
    SIDES = 16, /* of candidates */
    RUNS = 9,
    MORE = 8,
};
static const double clearly = 0.95; /* largest ratio of times that is not noise */

/* A layer in one direction. For each candidate: its step, -1 if it cannot compute the
 * layer, steps of the other ops that another candidate fuses (-1 ends the list), and the
 * seconds of each run. */
struct layer {
    char *key;
    const char *rule; /* the candidate chosen by rule */
    int step[SIDES], more[SIDES][MORE];
    double seconds[SIDES][RUNS];
};

struct tuning {
    struct session *s;
    struct bench_side side[SIDES];
    const char *name[SIDES]; /* of the candidate */
    int nside;
    struct layer *layer;
    int nlayer, layer_cap;
};

/* Returns the step of layer `n` if the candidate computes it, or -1. */
static int step_by(const struct bench_side *d, const struct node *n, const char *name)
{
    int step = bench_side_step(d, n);
    const char *candidate =
        step < 0 ? NULL : cpu_kernel_candidate(d->program->region[step]->kernel);

    return candidate && !strcmp(candidate, name) ? step : -1;
}

/* Adds the steps of side k for the nodes of region r that the layer's own step lacks. */
static void add_more(const struct tuning *t, struct layer *l, int k,
                     const struct region *r)
{
    int n = 0;

    while (l->more[k][n] >= 0)
        n++;
    for (int i = 0; i < r->nnode && n < MORE - 1; i++) {
        int step = bench_side_step(&t->side[k], r->node[i]);
        bool seen = step < 0 || step == l->step[k] ||
                    bench_conv_of(t->side[k].program->region[step]);

        for (int j = 0; j < n; j++)
            seen |= l->more[k][j] == step;
        if (!seen)
            l->more[k][n++] = step;
    }
    l->more[k][n] = -1;
}

static void add_layer(struct tuning *t, const struct node *n, const char *rule)
{
    struct layer l = {.rule = rule};

    for (int k = 0; k < t->nside; k++) {
        l.step[k] = step_by(&t->side[k], n, t->name[k]);
        l.more[k][0] = -1;
    }
    for (int k = 0; k < t->nside; k++)
        for (int j = 0; j < t->nside; j++)
            if (l.step[k] >= 0 && l.step[j] >= 0)
                add_more(t, &l, k, t->side[j].program->region[l.step[j]]);
    l.key = kernel_table_key(n);
    GROW(t->layer, t->nlayer, t->layer_cap);
    t->layer[t->nlayer++] = l;
}

/* True if the candidate computes a layer. */
static bool computes(const struct bench_side *d, const char *name)
{
    for (int i = 0; i < d->program->nregion; i++) {
        const struct node *n = bench_conv_of(d->program->region[i]);

        if (n && step_by(d, n, name) >= 0)
            return true;
    }
    return false;
}

/* Compiles the network once per candidate. */
static void compile_sides(struct tuning *t, enum build_kind kind)
{
    for (int i = 0; kernel_table_names[i] && t->nside < SIDES; i++) {
        struct bench_side *d = &t->side[t->nside];

        kernel_table_force(t->s->device->table, kernel_table_names[i]);
        bench_side_compile(d, t->s, t->s->backend, kind);
        if (computes(d, kernel_table_names[i]))
            t->name[t->nside++] = kernel_table_names[i];
        else
            bench_sides_release(d, 1, t->s);
    }
}

/* Lists the layers with the candidates that the rules choose. */
static void find_layers(struct tuning *t, enum build_kind kind)
{
    struct bench_side d;

    kernel_table_force(t->s->device->table, "");
    bench_side_compile(&d, t->s, t->s->backend, kind);
    for (int i = 0; i < d.program->nregion; i++) {
        const struct node *n = bench_conv_of(d.program->region[i]);
        const char *rule = cpu_kernel_candidate(d.program->region[i]->kernel);

        if (n && rule)
            add_layer(t, n, rule);
    }
    bench_sides_release(&d, 1, t->s);
    kernel_table_force(t->s->device->table, NULL);
}

static void time_layers(struct tuning *t)
{
    for (int run = -1; run < RUNS; run++) /* -1 warms up */
        for (int i = 0; i < t->nlayer; i++)
            for (int k = 0; k < t->nside; k++) {
                struct layer *l = &t->layer[i];
                double sum;

                if (l->step[k] < 0)
                    continue;
                sum = bench_side_run(&t->side[k], l->step[k]);
                for (int j = 0; l->more[k][j] >= 0; j++)
                    sum += bench_side_run(&t->side[k], l->more[k][j]);
                if (run >= 0)
                    l->seconds[k][run] = sum;
            }
}

/* Seconds of the layers with one key: sums of medians, for each candidate and for the one
 * chosen by rule; 0 if a candidate cannot compute them. */
struct total {
    const struct layer *first;
    int count;
    double rule, seconds[SIDES];
};

/* Adds up all layers with the key of layer i; returns false if an earlier layer has it. */
static bool add_up(struct tuning *t, int i, struct total *sum)
{
    *sum = (struct total){.first = &t->layer[i]};
    for (int j = 0; j < t->nlayer; j++) {
        struct layer *l = &t->layer[j];

        if (strcmp(l->key, t->layer[i].key) != 0)
            continue;
        if (j < i)
            return false;
        sum->count++;
        for (int k = 0; k < t->nside; k++)
            if (l->step[k] >= 0)
                sum->seconds[k] += median(l->seconds[k], RUNS);
    }
    for (int k = 0; k < t->nside; k++)
        if (!strcmp(t->name[k], sum->first->rule))
            sum->rule = sum->seconds[k];
    return true;
}

/* Returns the candidate with the smallest time. */
static int fastest(const struct tuning *t, const struct total *sum)
{
    int best = -1;

    for (int k = 0; k < t->nside; k++)
        if (sum->seconds[k] > 0 && (best < 0 || sum->seconds[k] < sum->seconds[best]))
            best = k;
    return best;
}

/* Stores the choice for a key and prints it. Returns the seconds that it saves. */
static double choose(const struct tuning *t, const struct total *sum, int *nchosen)
{
    int best = fastest(t, sum);
    bool wins = sum->seconds[best] < clearly * sum->rule;

    kernel_table_set(t->s->device->table, sum->first->key, wins ? t->name[best] : NULL);
    say("%-76s %5d  %-9s %9.3f  %-9s %9.3f %6.2f%s\n", sum->first->key, sum->count,
        sum->first->rule, sum->rule * 1e3, t->name[best], sum->seconds[best] * 1e3,
        sum->rule / sum->seconds[best], wins ? "  chosen" : "");
    *nchosen += wins;
    return wins ? sum->rule - sum->seconds[best] : 0;
}

void bench_tune(struct session *s, enum build_kind kind)
{
    struct tuning t = {.s = s};
    struct total sum;
    double rule = 0, saved = 0;
    int nkey = 0, nchosen = 0;

    compile_sides(&t, kind);
    find_layers(&t, kind);
    bench_sides_bind(t.side, t.nside, s);
    time_layers(&t);
    say("%-76s %5s  %-9s %9s  %-9s %9s %6s\n", "layer", "calls", "by rule", "ms",
        "fastest", "ms", "ratio");
    for (int i = 0; i < t.nlayer; i++)
        if (add_up(&t, i, &sum)) {
            nkey++;
            rule += sum.rule;
            saved += choose(&t, &sum, &nchosen);
        }
    say("%d of %d shapes: another kernel is at least %.0f %% faster; these layers take "
        "%.2f instead of %.2f ms\n",
        nchosen, nkey, 100 * (1 - clearly), (rule - saved) * 1e3, rule * 1e3);
    say("writing to %s\n", kernel_table_store(s->device->table));
    bench_sides_release(t.side, t.nside, s);
    for (int i = 0; i < t.nlayer; i++)
        free(t.layer[i].key);
    free(t.layer);
}
