#include "cmd/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "config/problems.h"
#include "io/weights_file.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/data_config.h"
#include "train/output.h"
#include "train/result.h"
#include "train/saves.h"

const struct cmd_flag run_flags[] = {
    {"--result", "FILE", "write the outcome to FILE as one JSON object"},
    {0},
};

static void check_file(const struct config *cfg, const char *key, const char *path,
                       struct problems *p)
{
    char *last = path_join(path, "last.safetensors");
    bool run = file_exists(last);

    if (*path && !file_exists(path))
        config_blame(cfg, p, KEYS(key), "%s: there is no file '%s'", key, path);
    else if (*path && file_is_dir(path))
        config_blame(cfg, p, KEYS(key), "%s: '%s' is a folder%s%s%s", key, path,
                     run ? ": take '" : "", run ? last : "", run ? "'" : "");
    free(last);
}

/* Will the run go on from a checkpoint in its folder, and read no other weights? */
static bool goes_on(const struct config *cfg)
{
    char *dir = output_dir(cfg);
    bool found = cfg->train.auto_resume && saves_exist(dir);

    free(dir);
    return found;
}

/* What launchers of many processes say of their number: each would train alone. */
static void check_world(struct problems *p)
{
    static const char *const size[][2] = {{"WORLD_SIZE", "torchrun"},
                                          {"SLURM_STEP_NUM_TASKS", "srun"},
                                          {"OMPI_COMM_WORLD_SIZE", "mpirun"},
                                          {"PMI_SIZE", "mpiexec"}};

    for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
        const char *text = getenv(size[i][0]);

        if (text && strtol(text, NULL, 10) > 1)
            problems_error(p, NULL,
                           "%s is %s (%s): this version trains in one process, and each "
                           "would train alone; start one, or unset %s",
                           size[i][0], text, size[i][1], size[i][0]);
    }
}

void run_check(const struct config *cfg, bool train, struct problems *p)
{
    check_world(p);
    model_check(cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    device_check_run(cfg, p);
    check_file(cfg, "MODEL.RESUME", cfg->model.resume, p);
    if (!*cfg->model.resume && !(train && goes_on(cfg)))
        check_file(cfg, "MODEL.PRETRAINED", cfg->model.pretrained, p);
    if (!*cfg->model.pretrained)
        config_warn_unread(cfg, p, "MODEL.PRETRAINED_SKIP", "MODEL.PRETRAINED is empty");
    data_check(cfg, p);
    if (train)
        data_check_split(cfg, DATA_TRAIN, p);
    data_check_split(cfg, DATA_VAL, p);
}

void run_take_config(const struct verb *v, struct cmdline *line)
{
    const char *path = v->weights ? v->weights(line) : NULL;
    struct strbuf why = STRBUF_INIT;
    struct weights_file file;
    const char *text;

    if (line->ncfg || !path || !file_exists(path) || file_is_dir(path))
        return;
    if (!weights_file_open(&file, path, true, &why)) {
        text = weights_file_meta(&file, file.ours ? "config" : RUN_CONFIG_META);
        line->saved = text ? arena_strdup(&line->mem, text) : NULL;
        line->saved_name = path;
    }
    weights_file_close(&file); /* what is wrong with it, who loads the weights says */
    strbuf_release(&why);
}

/* Is it the command line that says what the key holds, and no file? */
static bool on_command_line(const struct config *cfg, const struct cmdline *line,
                            const char *key)
{
    const char *where = config_where(cfg, key);

    for (int i = 0; where && i < line->nopt; i++)
        if (!strcmp(where, line->opt[i].where))
            return true;
    for (int i = 0; where && i < line->nflag; i++)
        if (!strcmp(where, line->flag[i].where))
            return true;
    return false;
}

void run_check_weights(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    bool both = *cfg->model.resume && *cfg->model.pretrained &&
                on_command_line(cfg, line, "MODEL.PRETRAINED");

    if (both && on_command_line(cfg, line, "MODEL.RESUME"))
        problems_note(p, config_where(cfg, "MODEL.PRETRAINED"),
                      "'%s' is not read: MODEL.RESUME '%s' is evaluated",
                      cfg->model.pretrained, cfg->model.resume);
    else if (both)
        config_blame(cfg, p, KEYS("MODEL.PRETRAINED", "MODEL.RESUME"),
                     "'%s' would not be evaluated, but MODEL.RESUME '%s' (%s): add "
                     "--resume ''",
                     cfg->model.pretrained, cfg->model.resume,
                     config_where(cfg, "MODEL.RESUME"));
    if (!*cfg->model.resume && !*cfg->model.pretrained && !cfg->throughput_mode)
        config_blame(cfg, p, KEYS("MODEL.RESUME", "MODEL.PRETRAINED"),
                     "nothing to evaluate: give --resume CHECKPOINT or --pretrained "
                     "FILE");
}

void run_check_writable(const struct cmdline *line, const char *flag, struct problems *p)
{
    const char *path = cmdline_value(line, flag);
    const char *why = path ? file_not_writable(path) : NULL;

    if (why)
        problems_error(p, flag, "'%s' cannot be written: %s", path, why);
}

void run_keep_out(const struct cmdline *line)
{
    if (atomic_keep_out(cmdline_value(line, "--json")))
        die("--json -: %s", strerror(errno));
}

void run_refuse(const struct cmdline *line, const struct problems *p)
{
    const char *path = cmdline_value(line, "--result");
    struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < p->n; i++)
        if (p->item[i].kind == PROBLEM_ERROR)
            strbuf_addf(&text, "%s%s", text.len ? "\n" : "", p->item[i].text);
    if (path)
        result_write_refused(path, text.buf);
    strbuf_release(&text);
}
