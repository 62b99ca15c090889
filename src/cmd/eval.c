/* trainc eval: validates the weights in a file as training does. */
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "train/report.h"
#include "train/trainer.h"

static const char *eval_weights(const struct cmdline *line)
{
    const char *resume = cmdline_key(line, "MODEL.RESUME");

    return resume && *resume ? resume : cmdline_key(line, "MODEL.PRETRAINED");
}

static void eval_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    const char *report = cmdline_value(line, "--report");
    const char *why = report ? report_refuse(report) : NULL;

    run_check(cfg, false, p);
    if (!cmdline_value(line, "--beside"))
        run_check_weights(cfg, line, p);
    if (cmdline_value(line, "--beside") && (report || cmdline_value(line, "--result")))
        problems_error(p, "--beside",
                       "cannot be combined with --report or --result: the results go to "
                       "the training process");
    if (why)
        problems_error(p, "--report", "'%s': %s; choose another folder", report, why);
    if (report && cfg->throughput_mode)
        problems_error(p, "--report", "has no effect with THROUGHPUT_MODE");
}

static const struct cmd_flag eval_flags[] = {
    RUN_RESULT_FLAG,
    {"--report", "DIR",
     "write an error analysis to DIR: accuracy by class, the confusion matrix, the worst "
     "images, ..."},
    {"--beside", "SOCKET",
     "evaluate each checkpoint that a training run announces on its validate.sock "
     "(TRAIN.VALIDATE beside); any device"},
    {0},
};

static int eval_run(struct config *cfg, const struct cmdline *line)
{
    if (cmdline_value(line, "--beside"))
        return trainer_eval_beside(cfg, cmdline_value(line, "--beside"));
    return trainer_eval(cfg, cmdline_value(line, "--result"),
                        cmdline_value(line, "--report"));
}

const struct verb cmd_eval = {
    .name = "eval",
    .examples =
        (const char *const[]){
            "trainc eval --resume output/resnet18/default/best.safetensors",
            "trainc eval --resume best.safetensors --report report", NULL},
    .help = "evaluate a checkpoint or weights on the validation images",
    .about =
        "Evaluates the weights of --resume CHECKPOINT (and the EMA weights, if "
        "TRAIN.EMA.ENABLE is on) or of --pretrained FILE. Without --cfg, uses the "
        "configuration saved in the checkpoint. --report DIR writes accuracy by class, "
        "the confusion matrix (CSV and PNG), the expected calibration error of Guo et "
        "al. 2017, the most confused pairs, and the worst images; it uses the EMA "
        "weights "
        "if there are any.",
    .flags = eval_flags,
    .log_stdout = true,
    .weights = eval_weights,
    .check = eval_check,
    .refuse = run_refuse,
    .run = eval_run,
};
