/* trainc eval: validates the weights in a file as training does. */
#include <stdlib.h>

#include "base/alloc.h"
#include "cmd/cmd.h"
#include "cmd/ensemble.h"
#include "cmd/run.h"
#include "dist/launch.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "train/data_config.h"
#include "train/ensemble_eval.h"
#include "train/report.h"
#include "train/trainer.h"
#include "train/views.h"
#include "train/windows.h"
#include "train/windows_eval.h"

static const char *eval_weights(const struct cmdline *line)
{
    const char *resume = cmdline_key(line, "MODEL.RESUME");

    if (cmdline_value(line, "--weights"))
        return cmdline_value(line, "--weights");
    return resume && *resume ? resume : cmdline_key(line, "MODEL.PRETRAINED");
}

/* Returns the weights to evaluate: of the command line, or of the configuration. */
static const char *weights_to_evaluate(const struct config *cfg,
                                       const struct cmdline *line)
{
    if (cmdline_value(line, "--weights"))
        return cmdline_value(line, "--weights");
    return *cfg->model.resume ? cfg->model.resume : cfg->model.pretrained;
}

/* The averages of ensembles and views, and windows, are computed by one process. */
static void check_one_process(const struct config *cfg, const char *key,
                              struct problems *p)
{
    struct dist_launch l = dist_launched();

    device_check_run(cfg, p);
    if (device_count(cfg) > 1)
        problems_error(p, key, "works on one device only; set DEVICE to one device");
    if (l.world > 1)
        problems_error(p, key, "works only in one process, and %s is %d (%s)", l.size_key,
                       l.world, l.program);
}

/* --weights A B C */
static void check_ensemble(const struct config *cfg, const struct cmdline *line,
                           struct problems *p)
{
    static const char *const others[] = {"MODEL.RESUME", "MODEL.PRETRAINED"};
    int before = p->nerror;

    if (cmdline_value(line, "--watch"))
        problems_error(p, "--watch", "cannot be combined with --weights");
    for (int i = 0; i < 2; i++)
        if (cmdline_key(line, others[i]))
            problems_error(p, others[i], "cannot be combined with --weights");
    model_check(cfg, p);
    model_check_whole(cfg, p);
    if (p->nerror == before && model_of_config(cfg)->family->task == MODEL_SEGMENT)
        problems_error(p, "--weights",
                       "%s is a segmentation model: eval averages classifiers only "
                       "(evaluate one checkpoint with --resume)",
                       cfg->model.name);
    if (cfg->throughput_mode)
        problems_error(p, "--weights", "cannot be combined with THROUGHPUT_MODE");
    check_one_process(cfg, "--weights", p);
    data_check(cfg, p);
    data_check_split(cfg, DATA_VAL, p);
    run_check_own_weights(cfg, line, p);
    ensemble_check(line, p);
}

/* TEST.TTA and TEST.SCALES */
static void check_views(const struct config *cfg, const struct cmdline *line,
                        struct problems *p)
{
    const char *key = cfg->test.scales.n ? "TEST.SCALES" : "TEST.TTA";

    views_check(cfg, p);
    windows_check(cfg, p);
    if (!*cfg->test.tta && !windows_wanted(cfg))
        return;
    if (cmdline_value(line, "--watch"))
        problems_error(p, key, "cannot be combined with --watch");
    if (cfg->throughput_mode)
        problems_error(p, key, "cannot be combined with THROUGHPUT_MODE");
    check_one_process(cfg, key, p);
}

/* Arguments are further files of --weights. */
static void check_args(const struct cmdline *line, struct problems *p)
{
    for (int i = 0; i < line->narg; i++)
        if (!ensemble_has(line, i))
            problems_error(p, NULL, "unrecognized arguments: %s", line->arg[i].text);
}

static void eval_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    const char *report = cmdline_value(line, "--report");
    const char *why = report ? report_refuse(report) : NULL;
    int before = p->nerror;

    check_args(line, p);
    if (cmdline_value(line, "--weights")) {
        check_ensemble(cfg, line, p);
    } else {
        run_check(cfg, false, p);
        if (!cmdline_value(line, "--watch"))
            run_check_weights(cfg, line, p);
    }
    if (p->nerror == before)
        check_views(cfg, line, p);
    if (cmdline_value(line, "--watch") && (report || cmdline_value(line, "--result")))
        problems_error(p, "--watch",
                       "cannot be combined with --report or --result: the results go to "
                       "the training process");
    if (why)
        problems_error(p, "--report", "'%s': %s; choose another folder", report, why);
    if (report && cfg->throughput_mode)
        problems_error(p, "--report", "has no effect with THROUGHPUT_MODE");
}

static const struct cmd_flag eval_flags[] = {
    RUN_RESULT_FLAG,
    {"--weights", "FILE...",
     "checkpoints of classifiers with the same classes (see trainc help export for raw "
     "and EMA weights); the mean of their probabilities is evaluated"},
    {"--report", "DIR",
     "write an error analysis to DIR: accuracy by class, the confusion matrix, the worst "
     "images, ..."},
    {"--watch", "SOCKET",
     "evaluate each checkpoint that a training run announces on its validate.sock "
     "(TRAIN.VALIDATE background); any device"},
    {0},
};

static int run_ensemble(struct config *cfg, const struct cmdline *line)
{
    size_t max = (size_t)line->narg + 1;
    struct cmdline *lines = xcalloc(max, sizeof(*lines));
    struct config *more = xcalloc(max, sizeof(*more));
    struct config **configs = xcalloc(max, sizeof(*configs));
    const char **path = xcalloc(max, sizeof(*path));
    int n = 1, code;

    configs[0] = cfg;
    path[0] = weights_to_evaluate(cfg, line);
    for (; n <= line->narg; n++) {
        path[n] = line->arg[n - 1].text;
        configs[n] = &more[n];
        ensemble_config(path[n], line, cfg, &lines[n], configs[n]);
    }
    for (int i = 0; i < n; i++) {
        config_set(configs[i], "TRAIN.EMA.ENABLE", "False");
        config_set(configs[i], "TRAIN.SWA.ENABLE", "False");
    }
    code =
        ensemble_eval(&(struct ensemble_eval){.cfg = configs,
                                              .path = path,
                                              .n = n,
                                              .result = cmdline_value(line, "--result"),
                                              .report = cmdline_value(line, "--report")});
    for (int i = 1; i < n; i++) {
        config_release(&more[i]);
        arena_release(&lines[i].mem);
    }
    free(lines);
    free(more);
    free(configs);
    free(path);
    return code;
}

static int eval_run(struct config *cfg, const struct cmdline *line)
{
    if (cmdline_value(line, "--watch"))
        return trainer_eval_watch(cfg, cmdline_value(line, "--watch"));
    config_set(cfg, "TEST.BOUNDARY_IOU", "True");
    if (windows_wanted(cfg)) {
        config_set(cfg, "TRAIN.EMA.ENABLE", "False");
        config_set(cfg, "TRAIN.SWA.ENABLE", "False");
        return windows_eval(cfg, weights_to_evaluate(cfg, line),
                            cmdline_value(line, "--result"),
                            cmdline_value(line, "--report"));
    }
    if (cmdline_value(line, "--weights") || *cfg->test.tta)
        return run_ensemble(cfg, line);
    return trainer_eval(cfg, cmdline_value(line, "--result"),
                        cmdline_value(line, "--report"));
}

const struct verb cmd_eval = {
    .name = "eval",
    .evaluates = true,
    .examples =
        (const char *const[]){
            "trainc eval --resume output/resnet18/default/best.safetensors",
            "trainc eval --weights a.safetensors b.safetensors --report report", NULL},
    .help = "evaluate a checkpoint or weights on the validation images",
    .about =
        "Evaluates the weights of --resume CHECKPOINT (and the EMA weights, if "
        "TRAIN.EMA.ENABLE is on) or of --pretrained FILE. Without --cfg, uses the "
        "configuration saved in the checkpoint. --report DIR writes accuracy by class, "
        "the confusion matrix (CSV and PNG), the expected calibration error of Guo et "
        "al. 2017, the most confused pairs, and the worst images; it uses the EMA "
        "weights if there are any. With --tta hflip (TEST.TTA) or several --weights, the "
        "probabilities of views and checkpoints are averaged; TEST.SCALES evaluates "
        "segmentations on whole images, in windows.",
    .args = "[CHECKPOINT...]",
    .max_args = 100,
    .flags = eval_flags,
    .log_stdout = true,
    .weights = eval_weights,
    .check = eval_check,
    .refuse = run_refuse,
    .run = eval_run,
};
