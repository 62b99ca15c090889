/*
 * trainc average: the mean of the weights of several checkpoints, of files, of the newest or
 * best ones of a run, or of those of a sweep that make the mean better (--greedy).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "cmd/average_pick.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "config/schema.h"
#include "dist/launch.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/average.h"
#include "train/data_config.h"
#include "train/scores.h"
#include "train/soup.h"
#include "train/windows.h"

/* True if images are needed. */
static bool reads_data(const struct cmdline *line)
{
    return cmdline_has(line, "--greedy") || cmdline_value(line, "--bn-batches");
}

/* Returns --bn-batches as soup_options.bn_batches; exits if it is neither a number nor
 * "all". */
static int64_t bn_batches(const struct cmdline *line)
{
    const char *text = cmdline_value(line, "--bn-batches");

    return !text                  ? SOUP_NO_BATCHES
           : !strcmp(text, "all") ? SOUP_ALL_BATCHES
                                  : run_number("--bn-batches", text, 1, INT32_MAX);
}

/* Writes the mean of the chosen files. */
static void write_mean(struct average *a, const char *out)
{
    struct strbuf why = STRBUF_INIT;
    int n = 0;

    for (; average_chosen(a, n) >= 0; n++)
        log_info("averaged '%s'", average_path(a, average_chosen(a, n)));
    if (average_write(a, out, &why))
        die("%s", why.buf);
    log_info("writing '%s': mean of %d checkpoint%s, %d tensors%s", out, n,
             n == 1 ? "" : "s", average_tensors(a),
             average_has_ema(a) ? ", EMA weights" : "");
}

static int average_run(struct config *cfg, const struct cmdline *line)
{
    struct soup_options o = {.cfg = cfg,
                             .bn_batches = bn_batches(line),
                             .greedy = cmdline_has(line, "--greedy")};
    struct strbuf why = STRBUF_INIT;
    struct picked c = {0};
    struct average *a;
    int code = EXIT_OK;

    average_pick(&c, line);
    if (c.n < 2)
        die("'%s' is one checkpoint: a mean needs two or more", c.path[0]);
    a = average_open((const char *const *)c.path, c.n, cmdline_has(line, "--raw"), &why);
    if (!a)
        die("%s", why.buf);
    if (reads_data(line))
        code = soup_cook(a, &o);
    if (code == EXIT_OK)
        write_mean(a, cmdline_value(line, "--out"));
    average_close(a);
    average_pick_release(&c);
    return code;
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

/* Warns about keys on the command line that only images need. */
static void check_unread(const struct config *cfg, const struct cmdline *line,
                         struct problems *p)
{
    for (int i = 0; i < line->nopt + line->nflag; i++) {
        const struct cfgnode_pair *set =
            i < line->nopt ? &line->opt[i] : &line->flag[i - line->nopt];
        const struct schema *row = schema_find(schema_table, set->name);

        if (row && verb_reads(&cmd_average, row->key) && strcmp(row->key, "LOG.LEVEL") &&
            !config_is_default(cfg, row->key))
            problems_warn(p, set->origin,
                          "%s has no effect without --greedy or --bn-batches", set->name);
    }
}

static void check_weights(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    static const char *const others[] = {"MODEL.RESUME", "MODEL.PRETRAINED"};

    for (int i = 0; i < 2; i++)
        if (cmdline_key(line, others[i]))
            problems_error(p, others[i], "has no effect: the arguments are the weights");
    if (!line->saved && !config_origin(cfg, "MODEL.NAME") &&
        !config_origin(cfg, "MODEL.TYPE"))
        problems_error(p, NULL,
                       "'%s' does not name its model: give --cfg FILE for --greedy and "
                       "--bn-batches",
                       line->arg[0].text);
}

/* Reports scores that are not those of plain images, and a metric without a meaning. */
static void check_scores(const struct config *cfg, struct problems *p)
{
    struct strbuf unused = STRBUF_INIT;
    const struct model *m = model_lookup(cfg, &unused);

    if (m)
        score_check(cfg, model_task_of_config(cfg, m), p);
    if (*cfg->test.tta)
        config_blame(cfg, p, KEYS("TEST.TTA"),
                     "TEST.TTA: --greedy validates plain images; set TEST.TTA=''");
    if (windows_wanted(cfg))
        config_blame(cfg, p, KEYS("TEST.SCALES"),
                     "TEST.SCALES: --greedy validates images of the input's size; set "
                     "TEST.SCALES=[]");
    strbuf_release(&unused);
}

/* The model and the data of --greedy and --bn-batches. */
static void check_data(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    struct dist_launch l = dist_launched();

    check_weights(cfg, line, p);
    if (p->nerror)
        return; /* other errors would be those of an empty configuration */
    model_check(cfg, p);
    model_check_whole(cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    device_check_one(cfg, p);
    if (l.world > 1)
        problems_error(p, NULL, "average works only in one process, and %s is %d (%s)",
                       l.size_key, l.world, l.program);
    if (cmdline_has(line, "--greedy"))
        check_scores(cfg, p);
    data_check(cfg, p);
    data_check_split(cfg, DATA_VAL, p);
    if (!cmdline_value(line, "--bn-batches"))
        return;
    data_check_split(cfg, DATA_TRAIN, p);
    if (cfg->data.batch_size == BATCH_SIZE_AUTO)
        config_blame(
            cfg, p, KEYS("DATA.BATCH_SIZE"),
            "DATA.BATCH_SIZE auto: --bn-batches needs a number (--batch-size N)");
}

static void check_out(const struct cmdline *line, struct problems *p)
{
    const char *out = cmdline_value(line, "--out");

    if (!out)
        problems_error(p, NULL, "no output: give --out FILE.safetensors");
    else if (run_is_pickle_name(out))
        problems_error(p, "--out", "'%s': the output is a .safetensors file", out);
    else if (!strcmp(out, "-"))
        problems_error(p, "--out", "'-': a file is needed: its header is written last");
    else
        run_check_writable(line, "--out", WRITTEN_WEIGHTS, p);
}

static void average_check(const struct config *cfg, const struct cmdline *line,
                          struct problems *p)
{
    static const char *const picks[] = {"--last", "--best"};
    bool folder = false;

    if (!line->narg)
        problems_error(p, NULL,
                       "no checkpoints: give files, or the folder of a run or a sweep");
    check_args(line, &folder, p);
    for (int i = 0; i < 2; i++)
        if (cmdline_value(line, picks[i]) && line->narg && !folder)
            problems_error(p, picks[i],
                           "chooses checkpoints of a run, and no argument is a folder");
    if (cmdline_value(line, "--last") && cmdline_value(line, "--best"))
        problems_error(p, "--best", "cannot be combined with --last");
    check_out(line, p);
    (void)bn_batches(line);
    if (!reads_data(line))
        check_unread(cfg, line, p);
    else if (!p->nerror)
        check_data(cfg, line, p);
}

/* Returns the checkpoint whose model and data are used. */
static const char *average_weights(const struct cmdline *line)
{
    static char *first; /* kept: the configuration refers to it */

    if (!first && reads_data(line) && line->narg)
        first = average_pick_first(line->arg[0].text);
    return first;
}

static const struct cmd_flag average_flags[] = {
    {"--out", "FILE", "safetensors file to write"},
    {"--last", "K", "of each run: the K newest checkpoints"},
    {"--best", "K", "of each run: the K checkpoints that validated best"},
    {"--raw", NULL, "average the weights themselves even if there are EMA weights"},
    {"--greedy", NULL,
     "a greedy soup: from the best on, keep each checkpoint with which the mean does not "
     "validate worse"},
    {"--bn-batches", "N",
     "estimate the batch norm statistics of the mean again from N training batches (all: "
     "the whole training set)"},
    {0},
};

static const char *const average_reads[] = {"MODEL.",
                                            "DATA.",
                                            "AUG.",
                                            "TEST.",
                                            "AMP.",
                                            "AMP_ENABLE",
                                            "AMP_OPT_LEVEL",
                                            "CUDA.",
                                            "CUDNN.",
                                            "DEVICE",
                                            "THREADS",
                                            "SEED",
                                            "DEFAULTS",
                                            "LOG.PROGRESS",
                                            "LOSSES",
                                            "TRAIN.FREEZE",
                                            "TRAIN.BEST_METRIC",
                                            NULL};

const struct verb cmd_average = {
    .name = "average",
    .examples =
        (const char *const[]){
            "trainc average output/resnet18/default --best 3 --out mean.safetensors",
            "trainc average a.safetensors b.safetensors --out mean.safetensors",
            "trainc average --greedy SWEEP --bn-batches 100 --out soup.safetensors",
            NULL},
    .help = "average the weights of several checkpoints",
    .about =
        "Writes the mean of the weights of the given safetensors files. The folder of a "
        "run stands for its checkpoints: all that are saved, the newest (--last K), or "
        "the best by TRAIN.BEST_METRIC (--best K; only those that were validated when "
        "they were saved). EMA weights are averaged if the checkpoints have them, unless "
        "--raw is given. Sums are in double precision, and the result is fp32; running "
        "statistics of batch norms are averaged, too, or estimated again from training "
        "images (--bn-batches). With --greedy, only the checkpoints with which the mean "
        "validates better or equally well are averaged (Wortsman et al. 2022, \"Model "
        "soups\"); the folder of a sweep stands for best.safetensors of its runs. Both "
        "use "
        "the model and the data of the first checkpoint's configuration unless --cfg, "
        "--data-path, or other keys are given. The configuration and the class "
        "names are those of the first checkpoint. Files that differ in architecture or "
        "classes are refused. `trainc eval --pretrained FILE` and `trainc predict "
        "--weights FILE` read the result.",
    .args = "CHECKPOINT_OR_RUN...",
    .max_args = AVERAGE_MAX,
    .flags = average_flags,
    .reads = average_reads,
    .weights = average_weights,
    .check = average_check,
    .run = average_run,
};
