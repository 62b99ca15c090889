/* trainc eval: the numbers that validation inside training gives, from a file. */
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "train/trainer.h"

static const char *eval_weights(const struct cmdline *line)
{
    const char *resume = cmdline_key(line, "MODEL.RESUME");

    return resume && *resume ? resume : cmdline_key(line, "MODEL.PRETRAINED");
}

static void eval_check(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    run_check(cfg, false, p);
    run_check_weights(cfg, line, p);
}

static int eval_run(struct config *cfg, const struct cmdline *line)
{
    return trainer_eval(cfg, cmdline_value(line, "--result"));
}

const struct verb cmd_eval = {
    .name = "eval",
    .help = "evaluate a checkpoint or weights on the validation images",
    .about =
        "Takes the weights of --resume CHECKPOINT, and their average beside them if "
        "TRAIN.EMA is on, or those of --pretrained FILE. Without --cfg a checkpoint of "
        "trainc is evaluated with the configuration that it holds. Never trains, and "
        "never looks for a checkpoint by itself.",
    .flags = run_flags,
    .weights = eval_weights,
    .check = eval_check,
    .refuse = run_refuse,
    .run = eval_run,
};
