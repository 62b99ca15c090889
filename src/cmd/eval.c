/* trainc eval: the numbers that validation inside training gives, from a file. */
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
        problems_error(p, "--beside", "results go to training: no --report or --result");
    if (why)
        problems_error(p, "--report", "'%s': %s: name another folder", report, why);
    if (report && cfg->throughput_mode)
        problems_error(p, "--report", "THROUGHPUT_MODE evaluates nothing");
}

static const struct cmd_flag eval_flags[] = {
    RUN_RESULT_FLAG,
    {"--report", "DIR",
     "write what was wrong to DIR: a table of the classes, the "
     "confusion matrix, the worst images, ..."},
    {"--beside", "SOCKET",
     "evaluate each checkpoint that training tells of by its validate.sock "
     "(TRAIN.VALIDATE beside), on any device"},
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
        "Takes the weights of --resume CHECKPOINT, and their EMA beside them if "
        "TRAIN.EMA is on, or those of --pretrained FILE. Without --cfg a checkpoint of "
        "trainc is evaluated with the configuration that it holds. Never trains, and "
        "never looks for a checkpoint by itself. --report DIR writes accuracy by class, "
        "the confusion matrix (CSV and PNG), the expected calibration error of Guo et "
        "al. "
        "2017, the most confused pairs and the worst images, of the EMA weights if there "
        "are some.",
    .flags = eval_flags,
    .log_stdout = true,
    .weights = eval_weights,
    .check = eval_check,
    .refuse = run_refuse,
    .run = eval_run,
};
