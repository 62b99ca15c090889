/* trainc [train]: trains what the configuration says. */
#include "base/file.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "train/hook_commands.h"
#include "train/trainer.h"

static void train_check(const struct config *cfg, const struct cmdline *line,
                        struct problems *p)
{
    bool train = !cfg->eval_mode && !cfg->throughput_mode;

    run_check(cfg, train, p);
    hook_commands_check(cfg, p);
    if (!train)
        run_check_weights(cfg, line, p);
}

/* --eval and --throughput are Swin's spelling of trainc eval. */
static int train_run(struct config *cfg, const struct cmdline *line)
{
    const char *result = cmdline_value(line, "--result");

    return cfg->eval_mode || cfg->throughput_mode ? trainer_eval(cfg, result, NULL)
                                                  : trainer_train(cfg, result);
}

static const struct cmd_flag train_flags[] = {
    RUN_RESULT_FLAG,
    CMD_KNOWN_FLAGS,
    {0},
};

const struct verb cmd_train = {
    .name = "train",
    .help = "train a model (the default verb)",
    .about =
        "Trains, validates and saves below OUTPUT/NAME/TAG; started again with the "
        "same configuration, it goes on where its newest checkpoint was. SIGTERM, "
        "SIGINT, SIGHUP and SIGUSR1 save and leave, with the exit code 128 + signal.",
    .flags = train_flags,
    .known_args = true,
    .log_stdout = true,
    .check = train_check,
    .refuse = run_refuse,
    .run = train_run,
};
