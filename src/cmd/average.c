/*
 * trainc average: the mean of the weights of several checkpoints, of files or of the newest
 * or best ones of a run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "io/safetensors.h"
#include "train/average.h"
#include "train/save_list.h"
#include "train/scores.h"

enum { MAX_CHECKPOINTS = 500 }; /* open files */

/* The checkpoints to average. */
struct chosen {
    char **path;
    int n, cap;
};

static void add(struct chosen *c, const char *path)
{
    if (c->n == MAX_CHECKPOINTS)
        usage("'%s': at most %d checkpoints are averaged", path, MAX_CHECKPOINTS);
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
static void add_best(struct chosen *c, const char *dir, const struct save *const *save,
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

static void add_run(struct chosen *c, const char *dir, const struct cmdline *line)
{
    int64_t last = run_flag_number(line, "--last", 0, 1, MAX_CHECKPOINTS);
    int64_t best = run_flag_number(line, "--best", 0, 1, MAX_CHECKPOINTS);
    struct save_list l = save_list_all(dir, true);
    const struct save **save = xcalloc((size_t)l.n + 1, sizeof(const struct save *));
    int n = distinct(&l, save);

    if (!n)
        die("'%s' is no run: it has no checkpoints", dir);
    if (last > n)
        die("--last %lld: '%s' has %d checkpoints (TRAIN.KEEP_CHECKPOINTS and "
            "SAVE_FREQ decide how many stay)",
            (long long)last, dir, n);
    if (best)
        add_best(c, dir, save, n, best, cmdline_has(line, "--raw"));
    for (int i = 0; !best && i < (last ? last : n); i++)
        add(c, save[i]->path);
    free(save);
    save_list_free(&l);
}

static int average_run(struct config *cfg, const struct cmdline *line)
{
    const char *out = cmdline_value(line, "--out");
    struct average_options o = {.raw = cmdline_has(line, "--raw")};
    struct average_result result;
    struct strbuf why = STRBUF_INIT;
    struct chosen c = {0};

    (void)cfg;
    for (int i = 0; i < line->narg; i++)
        if (file_is_dir(line->arg[i].text))
            add_run(&c, line->arg[i].text, line);
        else
            add(&c, line->arg[i].text);
    if (c.n < 2)
        die("'%s' is one checkpoint: a mean needs two or more", c.path[0]);
    if (average_write((const char *const *)c.path, c.n, &o, out, &result, &why))
        die("%s", why.buf);
    for (int i = 0; i < c.n; i++)
        log_info("averaged '%s'", c.path[i]);
    log_info("writing '%s': mean of %d checkpoints, %zu tensors%s", out, c.n,
             result.tensors, result.ema ? ", EMA weights" : "");
    for (int i = 0; i < c.n; i++)
        free(c.path[i]);
    free(c.path);
    return EXIT_OK;
}

static void check_args(const struct cmdline *line, bool *folder, struct problems *p)
{
    const char *out = cmdline_value(line, "--out");

    for (int i = 0; i < line->narg; i++) {
        const char *path = line->arg[i].text;

        if (!file_exists(path))
            problems_error(p, NULL, "there is no file or folder '%s'", path);
        else if (file_is_dir(path))
            *folder = true;
        if (out && file_exists(path) && file_same(path, out))
            problems_error(p, "--out", "'%s' is one of the checkpoints", out);
    }
}

static void average_check(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    static const char *const picks[] = {"--last", "--best"};
    const char *out = cmdline_value(line, "--out");
    bool folder = false;

    (void)cfg;
    if (!line->narg)
        problems_error(p, NULL, "no checkpoints: give files, or the folder of a run");
    check_args(line, &folder, p);
    for (int i = 0; i < 2; i++)
        if (cmdline_value(line, picks[i]) && line->narg && !folder)
            problems_error(p, picks[i],
                           "chooses checkpoints of a run, and no argument is a folder");
    if (cmdline_value(line, "--last") && cmdline_value(line, "--best"))
        problems_error(p, "--best", "cannot be combined with --last");
    if (!out)
        problems_error(p, NULL, "no output: give --out FILE.safetensors");
    else if (run_is_pickle_name(out))
        problems_error(p, "--out", "'%s': the output is a .safetensors file", out);
    else if (!strcmp(out, "-"))
        problems_error(p, "--out", "'-': a file is needed: its header is written last");
    else
        run_check_writable(line, "--out", WRITTEN_WEIGHTS, p);
}

static const struct cmd_flag average_flags[] = {
    {"--out", "FILE", "safetensors file to write"},
    {"--last", "K", "of each run: the K newest checkpoints"},
    {"--best", "K", "of each run: the K checkpoints that validated best"},
    {"--raw", NULL, "average the weights themselves even if there are EMA weights"},
    {0},
};

static const char *const average_reads[] = {NULL};

const struct verb cmd_average = {
    .name = "average",
    .examples =
        (const char *const[]){
            "trainc average output/resnet18/default --best 3 --out mean.safetensors",
            "trainc average a.safetensors b.safetensors --out mean.safetensors", NULL},
    .help = "average the weights of several checkpoints",
    .about =
        "Writes the mean of the weights of the given safetensors files. The folder of a "
        "run stands for its checkpoints: all that are saved, the newest (--last K), or "
        "the best by TRAIN.BEST_METRIC (--best K; only those that were validated when "
        "they were saved). EMA weights are averaged if the checkpoints have them, unless "
        "--raw is given. Sums are in double precision, and the result is fp32; running "
        "statistics of batch norms are averaged, too. The configuration and the class "
        "names are those of the first checkpoint. Files that differ in architecture or "
        "classes are refused. `trainc eval --pretrained FILE` and `trainc predict "
        "--weights FILE` read the result.",
    .args = "CHECKPOINT_OR_RUN...",
    .max_args = MAX_CHECKPOINTS,
    .flags = average_flags,
    .reads = average_reads,
    .check = average_check,
    .run = average_run,
};
