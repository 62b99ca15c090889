#include "cmd/average_pick.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/run.h"
#include "io/safetensors.h"
#include "train/save_list.h"
#include "train/scores.h"

#define BEST "best" SAVE_ENDING

static void add(struct picked *c, const char *path)
{
    if (c->n == AVERAGE_MAX)
        usage("'%s': at most %d checkpoints are averaged", path, AVERAGE_MAX);
    GROW(c->path, c->n, c->cap);
    c->path[c->n++] = xstrdup(path);
}

/* A checkpoint of a run and the score of its own validation. */
struct rated {
    const struct save *save;
    double score; /* NaN: not validated */
    enum score kind;
};

/* The score that chose best.safetensors is named by the key "best_NAME". */
static enum score score_kind(const json_t *state)
{
    for (int k = 0; k < SCORES; k++) {
        char *key = xasprintf("best_%s", score_name((enum score)k));
        bool has = json_object_get(state, key) != NULL;

        free(key);
        if (has)
            return (enum score)k;
    }
    return SCORE_LOSS;
}

static struct rated rate(const struct save *save, bool raw)
{
    struct rated r = {.save = save};
    struct strbuf why = STRBUF_INIT;
    struct safetensors f;
    json_t *state = NULL;

    if (!safetensors_open(&f, save->path, &why)) {
        const char *text = safetensors_meta(&f, "trainc");

        state = text ? json_loads(text, 0, NULL) : NULL;
    }
    r.kind = score_kind(state);
    r.score = scores_get(state, save->mark.ema && !raw ? "ema_" : "val_").value[r.kind];
    if (json_integer_value(json_object_get(state, "val_step")) != save->mark.step)
        r.score = scores_unknown().value[0];
    json_decref(state);
    safetensors_close(&f);
    strbuf_release(&why);
    return r;
}

/* Best first; of equal ones the newer first. */
static int by_score(const void *a, const void *b)
{
    const struct rated *x = a, *y = b;

    if (score_is_better(x->kind, x->score, y->score))
        return -1;
    if (score_is_better(x->kind, y->score, x->score))
        return 1;
    return (x->save > y->save) - (x->save < y->save);
}

/* Adds the `want` best ones of `n` saves. */
static void add_best(struct picked *c, const char *dir, const struct save *const *save,
                     int n, int64_t want, bool raw)
{
    struct rated *r = xcalloc((size_t)n + 1, sizeof(*r));
    int rated = 0;

    for (int i = 0; i < n; i++) {
        r[rated] = rate(save[i], raw);
        rated += r[rated].score == r[rated].score;
    }
    if (rated < want)
        die("--best %lld: '%s' has %d checkpoints that were validated when they were "
            "saved (TRAIN.KEEP_CHECKPOINTS and SAVE_FREQ decide how many stay)",
            (long long)want, dir, rated);
    qsort(r, (size_t)rated, sizeof(*r), by_score);
    for (int i = 0; i < want; i++) {
        log_info("'%s': %s %.4f", r[i].save->path, score_name(r[i].kind), r[i].score);
        add(c, r[i].save->path);
    }
    free(r);
}

/* Sound checkpoints, newest first; last and best are other names of numbered ones. */
static int distinct(const struct save_list *l, const struct save **save)
{
    int n = 0;

    for (int i = 0; i < l->n; i++) {
        bool again = l->item[i].damaged;

        for (int k = 0; k < n && !again; k++)
            again = save[k]->mark.done == l->item[i].mark.done &&
                    save[k]->mark.epoch == l->item[i].mark.epoch;
        if (!again)
            save[n++] = &l->item[i];
    }
    return n;
}

/* Adds checkpoints of a run. Returns false if the folder has none. */
static bool add_run(struct picked *c, const char *dir, const struct cmdline *line)
{
    int64_t last = run_flag_number(line, "--last", 0, 1, AVERAGE_MAX);
    int64_t best = run_flag_number(line, "--best", 0, 1, AVERAGE_MAX);
    struct save_list l = save_list_all(dir, true);
    const struct save **save = xcalloc((size_t)l.n + 1, sizeof(const struct save *));
    int n = distinct(&l, save);

    if (n && last > n)
        die("--last %lld: '%s' has %d checkpoints (TRAIN.KEEP_CHECKPOINTS and "
            "SAVE_FREQ decide how many stay)",
            (long long)last, dir, n);
    if (n && best)
        add_best(c, dir, save, n, best, cmdline_has(line, "--raw"));
    for (int i = 0; !best && i < (last && last < n ? last : n); i++)
        add(c, save[i]->path);
    free(save);
    save_list_free(&l);
    return n;
}

/* Returns the folders DIR/MODEL/NAME of a sweep's runs with a best.safetensors, in the order of
 * their names, for dir_list_free(). */
static char **sweep_runs(const char *dir, int *n)
{
    int models = 0, cap = 0;
    char **model = dir_list(dir, &models), **run = NULL;

    *n = 0;
    for (int i = 0; model && i < models; i++) {
        char *model_dir = path_join(dir, model[i]);
        int names = 0;
        char **name = file_is_dir(model_dir) ? dir_list(model_dir, &names) : NULL;

        for (int k = 0; name && k < names; k++) {
            char *path = path_join(model_dir, name[k]), *best = path_join(path, BEST);

            GROW(run, *n, cap);
            if (file_exists(best))
                run[(*n)++] = path;
            else
                free(path);
            free(best);
        }
        if (name)
            dir_list_free(name, names);
        free(model_dir);
    }
    if (model)
        dir_list_free(model, models);
    return run;
}

/* True for the folder that trainc sweep writes. */
static bool is_sweep(const char *dir)
{
    char *table = path_join(dir, "sweep.csv");
    bool is = file_exists(table);

    free(table);
    return is;
}

static void add_sweep(struct picked *c, const char *dir, const struct cmdline *line)
{
    bool all = !cmdline_value(line, "--last") && !cmdline_value(line, "--best");
    int n;
    char **run = sweep_runs(dir, &n);

    if (!n)
        die("'%s' is a sweep without a run that has a " BEST, dir);
    for (int i = 0; i < n; i++) {
        char *best = path_join(run[i], BEST);

        if (all)
            add(c, best);
        else
            (void)add_run(c, run[i], line);
        free(best);
    }
    dir_list_free(run, n);
}

void average_pick(struct picked *c, const struct cmdline *line)
{
    for (int i = 0; i < line->narg; i++) {
        const char *arg = line->arg[i].text;

        if (!file_is_dir(arg))
            add(c, arg);
        else if (is_sweep(arg))
            add_sweep(c, arg, line);
        else if (!add_run(c, arg, line))
            die("'%s' is no run: it has no checkpoints", arg);
    }
}

void average_pick_release(struct picked *c)
{
    for (int i = 0; i < c->n; i++)
        free(c->path[i]);
    free(c->path);
}

char *average_pick_first(const char *arg)
{
    char *last = path_join(arg, "last" SAVE_ENDING), *found = NULL;
    int n = 0;
    char **run = NULL;

    if (!file_is_dir(arg))
        found = xstrdup(arg);
    else if (file_exists(last))
        found = xstrdup(last);
    else if (is_sweep(arg))
        run = sweep_runs(arg, &n);
    if (n)
        found = path_join(run[0], BEST);
    if (run)
        dir_list_free(run, n);
    free(last);
    return found;
}
