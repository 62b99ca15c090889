#include "cmd/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"
#include "config/problems.h"
#include "dist/launch.h"
#include "io/weights_file.h"
#include "models/imagenet_names.h"
#include "models/imagenet_synsets.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "train/checkpoint.h"
#include "train/data_config.h"
#include "train/hub_config.h"
#include "train/kept_meta.h"
#include "train/output.h"
#include "train/result.h"
#include "train/saves.h"
#include "train/scores.h"

/* True if the run will resume from a checkpoint in its folder and so read no other
 * weights. */
static bool will_resume(const struct config *cfg)
{
    char *dir = output_dir(cfg);
    bool found = cfg->train.auto_resume && saves_exist(dir);

    free(dir);
    return found;
}

/* Reports several processes that cannot find each other; each would train by itself. */
static void check_world(const struct config *cfg, struct problems *p)
{
    struct dist_launch l = dist_launched();

    if (l.world == 1 && device_count(cfg) == 1)
        return;
    if (!l.mpi && l.world > 1 && !device_links(cfg))
        problems_error(p, NULL,
                       "%s is %d (%s), but processes on CPUs need mpirun -n %d trainc "
                       "...; for a single process, unset %s",
                       l.size_key, l.world, l.program, l.world, l.size_key);
    if (cfg->data.batch_size == BATCH_SIZE_AUTO)
        config_blame(
            cfg, p, KEYS("DATA.BATCH_SIZE"),
            "DATA.BATCH_SIZE auto works only with one device; set the batch size "
            "of each of the %d %s",
            l.world > 1 ? l.world : device_count(cfg),
            l.world > 1 ? "processes" : "devices");
}

/* Checks the metric of the best checkpoint. An unknown model is reported elsewhere. */
static void check_best(const struct config *cfg, struct problems *p)
{
    struct strbuf unused = STRBUF_INIT;
    const struct model *m = model_lookup(cfg, &unused);

    if (m)
        score_check(cfg, model_task_of_config(cfg, m), p);
    strbuf_release(&unused);
}

void run_check(const struct config *cfg, bool train, struct problems *p)
{
    run_check_resume(cfg, p);
    if (!train && p->nerror)
        return; /* other errors may come from the checkpoint's configuration */
    check_world(cfg, p);
    model_check(cfg, p);
    model_check_whole(cfg, p);
    optimizer_config_check(cfg, p);
    schedule_check(cfg, p);
    check_best(cfg, p);
    device_check_run(cfg, p);
    run_check_start(cfg, train, !*cfg->model.resume && !(train && will_resume(cfg)), p);
    if (!*cfg->model.pretrained)
        config_warn_unread(cfg, p, "MODEL.PRETRAINED_SKIP", "MODEL.PRETRAINED is empty");
    data_check(cfg, p);
    if (train)
        data_check_split(cfg, DATA_TRAIN, p);
    data_check_split(cfg, DATA_VAL, p);
    if (train && *cfg->test.tta)
        config_warn_unread(
            cfg, p, "TEST.TTA",
            "training validates the plain images; eval and predict average "
            "the views");
    if (train && cfg->test.scales.n)
        config_warn_unread(cfg, p, "TEST.SCALES",
                           "training validates images of the input's size; eval and "
                           "predict use windows");
    if (train && !p->nerror)
        schedule_note_warmup(cfg, p);
}

/* Makes the models whose graphs a checkpoint carries. */
static void use_graph(const struct weights_file *file)
{
    static const char *const key[] = {KEPT_META_GRAPH, KEPT_META_GRAPH_EVAL};
    struct strbuf why = STRBUF_INIT;

    for (int i = 0; i < 2; i++) {
        const char *text = weights_file_meta(file, key[i]);

        if (text && !model_provide(text, &why))
            usage("'%s': %s", file->path, why.buf);
    }
    strbuf_release(&why);
}

void run_use_saved_graph(const struct config *cfg)
{
    const char *path = cfg->model.resume;
    struct strbuf unused = STRBUF_INIT; /* run_check() reports it */
    struct weights_file file;

    if (!*path || !file_exists(path) || file_is_dir(path))
        return;
    if (!weights_file_open(&file, path, true, &unused))
        use_graph(&file);
    weights_file_close(&file);
    strbuf_release(&unused);
}

void run_use_saved_config_of(const char *path, struct cmdline *line)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file file;
    const char *text;

    if (line->ncfg || !path || !file_exists(path) || file_is_dir(path))
        return;
    if (weights_file_open(&file, path, true, &why) || weights_file_verify(&file, &why))
        usage("%s", why.buf);
    text = weights_file_meta(&file, file.by_trainc ? "config" : RUN_CONFIG_META);
    line->saved = text ? arena_strdup(&line->mem, text) : NULL;
    line->saved_name = path;
    use_graph(&file);
    weights_file_close(&file);
    strbuf_release(&why);
}

void run_use_saved_config(const struct verb *v, struct cmdline *line)
{
    run_use_saved_config_of(v->weights ? v->weights(line) : NULL, line);
}

void run_reset_start_keys(struct config *cfg, const struct cmdline *line)
{
    const char *origin = config_origin(cfg, "MODEL.PRETRAINED_SKIP");

    if (line->saved && origin &&
        !strncmp(origin, line->saved_name, strlen(line->saved_name)))
        cfg->model.pretrained_skip = (struct str_list){0};
}

/* Returns the class names in the weights file as a JSON array, or NULL if it has none. */
static json_t *saved_classes(const char *weights)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file file;
    const char *saved;
    json_t *list;

    if (weights_file_open(&file, weights, true, &why))
        die("--weights: %s", why.buf);
    saved = weights_file_meta(&file, "classes");
    list = saved ? json_parse(saved, strlen(saved), &why) : NULL;
    weights_file_close(&file);
    if (saved && !json_is_array(list))
        die("--weights: '%s': its list of class names is not a JSON array", weights);
    strbuf_release(&why);
    return list;
}

/* Sets MODEL.NUM_CLASSES to the length of the list, unless the configuration sets it. */
static void set_class_count(struct config *cfg, const json_t *list)
{
    const struct pretrained *row = pretrained_of_config(cfg);
    size_t of_file = json_array_size(list);
    size_t n = of_file ? of_file : (size_t)(row ? row->classes : hub_config_classes(cfg));
    char *text = xasprintf("%zu", n);
    char *origin =
        xasprintf(PRETRAINED_ORIGIN "%s", row ? row->name : cfg->model.pretrained);

    if (n)
        config_preset(cfg, "MODEL.NUM_CLASSES", text, of_file ? "the weights" : origin);
    free(origin);
    free(text);
}

/* Returns the WordNet ids of a larger ImageNet set with n classes, or NULL if there is no
 * such set. */
static json_t *synset_names(int n)
{
    int32_t *id = xcalloc(IMAGENET_21K, sizeof(*id));
    int count = imagenet_synsets(n, id);
    json_t *list = count == n ? json_array() : NULL;

    for (int c = 0; list && c < n; c++)
        json_array_append_new(list, json_sprintf("n%08d", id[c]));
    free(id);
    return list;
}

static json_t *class_names_1k(void)
{
    json_t *list = json_array();

    for (int c = 0; c < IMAGENET_1K; c++)
        json_array_append_new(list, json_string(imagenet_names[c]));
    return list;
}

/* Returns the class names of public weights: those of ImageNet or of their config.json; or
 * NULL. */
static json_t *public_classes(const struct config *cfg)
{
    const struct pretrained *row = pretrained_of_config(cfg);

    if (cfg->data.class_names.n || *cfg->data.class_set)
        return NULL;
    if (!row)
        return hub_config_labels(cfg);
    if (row->classes != cfg->model.num_classes || strstr(row->name, ".ms_in22k"))
        return NULL;
    return row->classes == IMAGENET_1K ? class_names_1k() : synset_names(row->classes);
}

json_t *run_classes(struct config *cfg, const struct cmdline *line, const char *weights)
{
    json_t *list = saved_classes(weights);

    set_class_count(cfg, list);
    return list || cmdline_value(line, "--weights") ? list : public_classes(cfg);
}

/* True if the command line, not a file, sets the key. */
static bool on_command_line(const struct config *cfg, const struct cmdline *line,
                            const char *key)
{
    const char *origin = config_origin(cfg, key);

    for (int i = 0; origin && i < line->nopt; i++)
        if (!strcmp(origin, line->opt[i].origin))
            return true;
    for (int i = 0; origin && i < line->nflag; i++)
        if (!strcmp(origin, line->flag[i].origin))
            return true;
    return false;
}

void run_check_weights(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    bool both = *cfg->model.resume && *cfg->model.pretrained &&
                on_command_line(cfg, line, "MODEL.PRETRAINED");

    if (both && on_command_line(cfg, line, "MODEL.RESUME"))
        problems_note(p, config_origin(cfg, "MODEL.PRETRAINED"),
                      "'%s' is ignored: MODEL.RESUME '%s' is evaluated",
                      cfg->model.pretrained, cfg->model.resume);
    else if (both)
        config_blame(
            cfg, p, KEYS("MODEL.PRETRAINED", "MODEL.RESUME"),
            "'%s' would be ignored, because MODEL.RESUME '%s' (%s) is evaluated; "
            "add --resume '' to evaluate it",
            cfg->model.pretrained, cfg->model.resume, config_origin(cfg, "MODEL.RESUME"));
    if (!*cfg->model.resume && !*cfg->model.pretrained && !cfg->throughput_mode)
        config_blame(cfg, p, KEYS("MODEL.RESUME", "MODEL.PRETRAINED"),
                     "nothing to evaluate: give --resume CHECKPOINT or --pretrained "
                     "FILE");
}

double run_amount(const char *flag, const char *text)
{
    char *end;
    double x = strtod(text, &end);

    if (!*text || *end || !(x > 0) || !(x < 1e18))
        usage("%s must be a number above 0, not '%s'", flag, text);
    return x;
}

int64_t run_number(const char *flag, const char *text, int64_t min, int64_t max)
{
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    if (end == text || *end || errno || n < min || n > max)
        usage("%s must be a number from %lld to %lld, not '%s'", flag, (long long)min,
              (long long)max, text);
    return n;
}

int64_t run_flag_number(const struct cmdline *line, const char *flag, int64_t otherwise,
                        int64_t min, int64_t max)
{
    const char *text = cmdline_value(line, flag);

    return text ? run_number(flag, text, min, max) : otherwise;
}

const char *run_own_value(const char *flag, int argc, char **argv, int *i)
{
    size_t len = strlen(flag);

    if (strncmp(argv[*i], flag, len) != 0 || (argv[*i][len] && argv[*i][len] != '='))
        return NULL;
    if (argv[*i][len])
        return argv[*i] + len + 1;
    if (*i + 1 >= argc)
        usage("%s needs a value", flag);
    return argv[++*i];
}

void run_check_writable(const struct cmdline *line, const char *flag, enum written kind,
                        struct problems *p)
{
    const char *path = cmdline_value(line, flag);
    const char *why = path ? file_not_writable(path) : NULL;

    if (path && !why)
        why = written_refuse(path, kind);
    if (why)
        problems_error(p, flag, "'%s' cannot be written: %s", path, why);
}

bool run_is_pickle_name(const char *path)
{
    static const char *const end[] = {".pth", ".pt", ".bin", ".tar", ".pkl"};

    for (size_t i = 0; i < sizeof(end) / sizeof(end[0]); i++)
        if (!strcmp(path_extension(path), end[i]))
            return true;
    return false;
}

void run_reserve_stdout(const struct cmdline *line)
{
    if (atomic_keep_out(cmdline_value(line, "--json")))
        die("--json -: %s", strerror(errno));
}

void run_refuse(const struct cmdline *line, const struct problems *p, int code)
{
    const char *path = cmdline_value(line, "--result");
    struct strbuf text = STRBUF_INIT;

    for (int i = 0; i < p->n; i++)
        if (p->item[i].kind == PROBLEM_ERROR)
            strbuf_addf(&text, "%s%s", text.len ? "\n" : "", p->item[i].text);
    if (path)
        result_write_refused(path, code, text.buf);
    strbuf_release(&text);
}
