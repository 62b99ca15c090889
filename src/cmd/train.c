/* trainc [train]: trains the configured model. */
#include "base/file.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/lr_find.h"
#include "cmd/run.h"
#include "session/devices.h"
#include "session/schedules.h"
#include "train/hook_commands.h"
#include "train/trainer.h"

/* Checks TRAIN.VALIDATE background, which validates while the next epoch trains: the
 * schedule must not need the score of each epoch, and the device must be available. */
static void check_background(const struct config *cfg, struct problems *p)
{
    const char *device = cfg->train.validate_device;
    struct strbuf why = STRBUF_INIT;
    struct device_options o;

    if (cfg->train.validate != VALIDATE_BACKGROUND)
        return;
    if (schedule_of_config(cfg)->judge)
        config_blame(
            cfg, p, KEYS("TRAIN.VALIDATE", "TRAIN.LR_SCHEDULER.NAME"),
            "TRAIN.VALIDATE background does not work with the schedule %s, which "
            "needs the score of each epoch; use inline",
            schedule_of_config(cfg)->name);
    if (!names_known(&device_names, device, &why))
        config_blame(cfg, p, KEYS("TRAIN.VALIDATE_DEVICE"), "TRAIN.VALIDATE_DEVICE %s",
                     why.buf);
    else if (!device_available(device_find(device, &o), o.index, &why))
        config_blame(cfg, p, KEYS("TRAIN.VALIDATE_DEVICE"),
                     "TRAIN.VALIDATE_DEVICE %s is not available: %s", device, why.buf);
    strbuf_release(&why);
}

static void train_check(const struct config *cfg, const struct cmdline *line,
                        struct problems *p)
{
    bool train = !cfg->eval_mode && !cfg->throughput_mode;

    run_check(cfg, train, p);
    hook_commands_check(cfg, p);
    lr_find_check(cfg, line, p);
    if (train)
        check_background(cfg, p);
    else
        run_check_weights(cfg, line, p);
}

/* --eval and --throughput, as in Swin's program, run trainc eval. */
static int train_run(struct config *cfg, const struct cmdline *line)
{
    const char *result = cmdline_value(line, "--result");

    if (lr_find_requested(line))
        return lr_find_run(cfg, line);
    return cfg->eval_mode || cfg->throughput_mode ? trainer_eval(cfg, result, NULL)
                                                  : trainer_train(cfg, result);
}

static const struct cmd_flag train_flags[] = {
    RUN_RESULT_FLAG,
    LR_FIND_FLAGS,
    CMD_KNOWN_FLAGS,
    {0},
};

const struct verb cmd_train = {
    .name = "train",
    .examples =
        (const char *const[]){"trainc --cfg my.yaml --epochs 20 --lr 0.01",
                              "trainc --data-path photos --pretrained resnet18", NULL},
    .help = "train a model (the default verb)",
    .about = "Trains, validates, and saves to OUTPUT/NAME/TAG. Run again with the same "
             "configuration, it resumes from the newest checkpoint. On SIGTERM, SIGINT, "
             "SIGHUP, or SIGUSR1 it saves a checkpoint and exits with code 128 + signal.",
    .flags = train_flags,
    .known_args = true,
    .log_stdout = true,
    .check = train_check,
    .refuse = run_refuse,
    .run = train_run,
};
