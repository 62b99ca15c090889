/* Runs the processes of a sweep, rung by rung. */
#include "cmd/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cores.h"
#include "base/log.h"
#include "cmd/sweep_jobs.h"

struct words {
    const char **word;
    int n, cap;
};

static void add_word(struct words *w, const char *word)
{
    GROW(w->word, w->n, w->cap);
    w->word[w->n++] = word;
}

/* True if an argument of the sweep sets the flag or key. */
static bool is_given(const struct sweep *s, const char *flag, const char *key)
{
    size_t len = strlen(key);

    for (int i = 0; i < s->ngiven; i++)
        if (!strncmp(s->given[i], flag, strlen(flag)) ||
            (!strncmp(s->given[i], key, len) && s->given[i][len] == '='))
            return true;
    return false;
}

/* Returns the command of a run. max: number of steps, 0 for all. result: file for its
 * result, or NULL. */
static struct words command_of(const struct sweep *s, int run, int64_t step_limit,
                               const char *result)
{
    const struct sweep_run *r = &s->grid.run[run];
    struct words w = {0};

    add_word(&w, "trainc");
    add_word(&w, "train");
    for (int i = 0; i < s->ngiven; i++)
        add_word(&w, s->given[i]);
    for (int i = 0; i < r->nword; i++)
        add_word(&w, r->word[i]);
    add_word(&w, "--output");
    add_word(&w, s->output);
    add_word(&w, "--tag");
    add_word(&w, r->name);
    add_word(&w, "--progress");
    add_word(&w, "off");
    if (result) {
        add_word(&w, "--result");
        add_word(&w, result);
    }
    if (s->jobs > 1 && !is_given(s, "--threads", "THREADS")) {
        int cores = usable_cores() / s->jobs;

        add_word(&w, "--threads");
        add_word(&w, xasprintf("%d", cores > 0 ? cores : 1));
    }
    if (step_limit) {
        add_word(&w, "--max-steps");
        add_word(&w, xasprintf("%lld", (long long)step_limit));
    }
    add_word(&w, NULL);
    return w;
}

static void report_end(int i, const struct sweep_job *j, void *arg)
{
    struct sweep *s = arg;
    int run = s->live[i];
    struct outcome *o = &s->outcome[run];

    o->code = j->code;
    free(o->last);
    o->last = NULL;
    if (j->code || !sweep_read_result(s, run, s->rung)) {
        o->last = sweep_last_line(s, run, s->rung);
        log_info("%s: exit code %d: %s", s->grid.run[run].name, j->code, o->last);
        return;
    }
    o->rung = s->rung + 1;
    log_info("%s: %s %.6g after %lld steps", s->grid.run[run].name,
             s->metric ? s->metric : "no score", o->value, (long long)o->steps);
}

/* Ignores the end of a job, such as a run started only to learn its length. */
static void ignore_end(int i, const struct sweep_job *j, void *arg)
{
    (void)i, (void)j, (void)arg;
}

/* Runs the live runs up to these numbers of steps. Returns the signal that stopped them, or
 * 0. */
static int run_jobs(struct sweep *s, const int64_t *step_limit)
{
    struct sweep_job *job = xcalloc((size_t)s->nlive + 1, sizeof(*job));
    struct sweep_slots slots = {s->jobs, s->device, s->ndevice};
    int sig;

    for (int i = 0; i < s->nlive; i++) {
        int run = s->live[i];

        sweep_args_write(s, run);
        job[i].argv = command_of(s, run, s->rung < s->halvings ? step_limit[i] : 0,
                                 sweep_path(s, run, s->rung, ".json"))
                          .word;
        job[i].log = sweep_path(s, run, s->rung, ".log");
    }
    sig = sweep_jobs_run(job, s->nlive, &slots, report_end, s);
    free(job);
    return sig;
}

/*
 * Finds the number of steps of each run in this rung. Only a started run knows its length,
 * so the others first run one step, without a result file. Returns the signal that stopped
 * them, or 0.
 */
static int find_step_limits(struct sweep *s, int64_t *step_limit)
{
    struct sweep_job *job = xcalloc((size_t)s->nlive + 1, sizeof(*job));
    struct sweep_slots slots = {s->jobs, s->device, s->ndevice};
    int sig, n = 0;

    for (int i = 0; i < s->nlive; i++) {
        if (sweep_updates(s, s->live[i]))
            continue;
        job[n].argv = command_of(s, s->live[i], 1, NULL).word;
        job[n++].log = sweep_path(s, s->live[i], s->rung, ".log");
    }
    sig = sweep_jobs_run(job, n, &slots, ignore_end, s);
    for (int i = 0; i < s->nlive; i++) {
        step_limit[i] = sweep_updates(s, s->live[i]) >> (s->halvings - s->rung);
        step_limit[i] += !step_limit[i];
    }
    free(job);
    return sig;
}

bool sweep_args_valid(struct sweep *s)
{
    struct words w = {0};
    struct sweep_job job = {0};

    add_word(&w, "trainc");
    add_word(&w, "train");
    for (int i = 0; i < s->ngiven; i++)
        add_word(&w, s->given[i]);
    add_word(&w, "--print-config");
    add_word(&w, NULL);
    job.argv = w.word;
    (void)sweep_jobs_run(&job, 1, &(struct sweep_slots){.parallel = 1}, ignore_end, s);
    free(w.word);
    return !job.code;
}

int sweep_by_score(const void *a, const void *b, void *sweep)
{
    const struct sweep *s = sweep;
    const struct outcome *x = &s->outcome[*(const int *)a],
                         *y = &s->outcome[*(const int *)b];
    double p = isnan(x->score) ? -HUGE_VAL : x->score,
           q = isnan(y->score) ? -HUGE_VAL : y->score;

    if (x->rung != y->rung)
        return y->rung - x->rung;
    return p != q ? (p < q ? 1 : -1) : *(const int *)a - *(const int *)b;
}

/* Keeps the better half of the runs that did not fail. */
static void keep_better(struct sweep *s)
{
    int n = 0;

    for (int i = 0; i < s->nlive; i++)
        if (s->outcome[s->live[i]].rung > s->rung)
            s->live[n++] = s->live[i];
    qsort_r(s->live, (size_t)n, sizeof(*s->live), sweep_by_score, s);
    s->nlive = s->rung < s->halvings ? (n + 1) / 2 : n;
}

/* Runs the current rung; skips runs that already have its result. */
static int run_rung(struct sweep *s)
{
    int64_t *step_limit = xcalloc((size_t)s->nlive + 1, sizeof(*step_limit));
    int *all = xcalloc((size_t)s->nlive + 1, sizeof(*all)), nall = s->nlive, n = 0,
        sig = 0;

    memcpy(all, s->live, (size_t)nall * sizeof(*all));
    for (int i = 0; i < nall; i++) {
        struct outcome *o = &s->outcome[all[i]];

        if (!sweep_args_same(s, all[i]) || !sweep_read_result(s, all[i], s->rung)) {
            s->live[n++] = all[i];
            continue;
        }
        o->rung = s->rung + 1;
        o->code = 0;
    }
    if (n < nall)
        log_info("%d of %d runs are already finished", nall - n, nall);
    s->nlive = n;
    if (s->rung < s->halvings)
        sig = find_step_limits(s, step_limit);
    if (!sig)
        sig = run_jobs(s, step_limit);
    memcpy(s->live, all, (size_t)nall * sizeof(*all));
    s->nlive = nall;
    free(all);
    free(step_limit);
    return sig;
}

int sweep_run_all(struct sweep *s)
{
    int sig = 0;

    for (s->rung = 0; s->rung <= s->halvings && s->nlive && !sig; s->rung++) {
        sig = run_rung(s);
        if (!sig)
            keep_better(s);
    }
    return sig;
}
