/*
 * trainc bench: times a whole training step on synthetic pixels: forward, backward, and
 * optimizer, in the program that training runs. With --inference it times the program
 * that evaluation runs.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/atomic.h"
#include "base/cache_dir.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/median.h"
#include "base/philox.h"
#include "base/say.h"
#include "cmd/bench_against.h"
#include "cmd/bench_convs.h"
#include "cmd/bench_copy.h"
#include "cmd/bench_loader.h"
#include "cmd/bench_ops.h"
#include "cmd/bench_program.h"
#include "cmd/bench_tune.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "cpu/backend.h"
#include "io/json.h"
#include "io/written.h"
#include "session/busy.h"
#include "session/devices.h"
#include "session/model_config.h"
#include "session/optimizer_config.h"
#include "session/schedules.h"
#include "session/session.h"
#include "session/state.h"
#include "train/data_config.h"
#include "train/pretrained.h"

enum { WARM_STEPS = 5, MIN_STEPS = 5, MAX_STEPS = 1000, CONV_RUNS = 7 };
static const double default_seconds = 5;

struct bench {
    struct session session;
    const struct config *cfg;
    int which; /* the program: SESSION_TRAIN or SESSION_EVAL */
    int64_t batch;
    uint8_t *pixels;
    void *labels, *keys, *jobs;
    double *seconds; /* of each timed step */
    int nsteps;
};

static void bench_batch(struct bench *b)
{
    const struct tensor *x = b->session.build[b->which].pixels;
    const struct tensor *y = b->session.build[b->which].labels;
    const struct tensor *keys = b->session.build[b->which].keys;
    const struct tensor *jobs = b->session.build[b->which].jobs;
    int64_t n = tensor_len(x), classes = session_classes(&b->session);
    int32_t *label;
    uint8_t *pixel;

    b->batch = x->dim[0];
    b->pixels = session_host_alloc(&b->session, (size_t)n);
    b->labels = pixel = session_host_alloc(&b->session, tensor_size(y));
    if (jobs) /* zeroed jobs leave the pixels unchanged */
        b->jobs = session_host_alloc(&b->session, tensor_size(jobs));
    if (keys)
        b->keys = session_host_alloc(&b->session, tensor_size(keys));
    label = b->labels;
    for (int64_t i = 0; i < n; i++)
        b->pixels[i] = (uint8_t)philox(0, PHILOX_TEST, 0, (uint64_t)i).v[0];
    for (int64_t i = 0; i < tensor_len(y); i++) {
        if (y->dtype == DTYPE_U8)
            pixel[i] = (uint8_t)(i / 16 % classes);
        else
            label[i] = (int32_t)(i % classes);
    }
}

static void keep_batch(void *owner, const void *token)
{
    (void)owner;
    (void)token;
}

/* As in training, submits a batch while the previous step still runs, and waits only for
 * the step before that one. Returns clock_now(). */
static double one_step(struct bench *b)
{
    struct lent_batch lent = {.pixels = b->pixels,
                              .labels = b->labels,
                              .release = keep_batch,
                              .keys = b->keys,
                              .jobs = b->jobs};

    if (b->which == SESSION_TRAIN && session_step_lent(&b->session, &lent))
        session_step_ema(&b->session);
    else if (b->which != SESSION_TRAIN)
        session_eval_lent(&b->session, &lent);
    return clock_now();
}

/* Times steps for `seconds`. The host runs two steps ahead of the device, so the time
 * between two returns of one_step() is the time of one step. */
static void time_steps(struct bench *b, double seconds)
{
    double until, last = 0, now;

    b->seconds = xcalloc(MAX_STEPS, sizeof(*b->seconds));
    for (int i = 0; i < WARM_STEPS; i++)
        last = one_step(b);
    until = last + seconds;
    while (b->nsteps < MAX_STEPS && (b->nsteps < MIN_STEPS || last < until)) {
        now = one_step(b);
        b->seconds[b->nsteps++] = now - last;
        last = now;
    }
    session_drain(&b->session);
}

/* A skipped step does not run its optimizer, so it is faster than a real one. */
static void warn_skipped_steps(const struct bench *b)
{
    struct control c;

    if (b->which != SESSION_TRAIN)
        return;
    c = session_control(&b->session);
    if (c.skipped)
        log_warning("gradients overflowed, so %lld of %lld steps skipped the optimizer: "
                    "the measured speed is too high",
                    (long long)c.skipped, (long long)c.step);
}

/* Returns the peak resident memory of the process in bytes, or 0 if unknown. */
static int64_t peak_rss(void)
{
    struct rusage u;

    return getrusage(RUSAGE_SELF, &u) ? 0 : (int64_t)u.ru_maxrss * 1024;
}

static const char *compute_of(const struct session *s)
{
    return s->plan.quantized.enable ? "int8" : s->plan.compute;
}

static void add_json(const struct bench *b, double step, const struct bench_convs *c,
                     struct strbuf *text)
{
    const struct session *s = &b->session;
    struct json_writer w = json_writer(text);
    double batch = (double)b->batch;

    written_begin(&w);
    json_put_double(&w, "images_per_second", batch / step);
    json_put_double(&w, "step_ms_median", step * 1e3);
    json_put_string(&w, "dtype", compute_of(s));
    json_put_int(&w, "batch", b->batch);
    json_put_string(&w, "device", s->backend->name);
    json_put_known(&w, "peak_memory_bytes", (int64_t)s->backend->peak_memory(s->device),
                   1);
    json_put_known(&w, "peak_rss_bytes", peak_rss(), 1);
    json_put_string(&w, "model", b->cfg->model.name);
    if (c)
        json_put_double(&w, "convs_images_per_second", batch / bench_convs_library(c));
    json_end(&w);
    strbuf_addch(text, '\n');
}

static double positive_number(const struct cmdline *line, const char *flag, double other)
{
    const char *text = cmdline_value(line, flag);
    char *end;
    double v;

    if (!text)
        return other;
    v = strtod(text, &end);
    if (*end || !(v > 0 && v < 1e6))
        usage("%s takes a number above 0, not '%s'", flag, text);
    return v;
}

/* Writes the result to --json and compares it with --against. */
static void write_and_compare(const struct cmdline *line, const struct strbuf *json)
{
    const char *path = cmdline_value(line, "--json");
    const char *before = cmdline_value(line, "--against");

    if (path && atomic_write_out(path, json->buf, json->len))
        die("cannot write '%s': %s", path, strerror(errno));
    if (before)
        bench_against(json->buf, "this result", before,
                      positive_number(line, "--min-ratio", BENCH_AGAINST_RATIO));
}

/* Returns the value of the flag, or 0 if it was not given. */
static int64_t whole_number(const struct cmdline *line, const char *flag)
{
    double v = positive_number(line, flag, 0);

    if (v != floor(v))
        usage("%s takes a whole number, not '%s'", flag, cmdline_value(line, flag));
    return (int64_t)v;
}

static void bench_compile(struct bench *b, struct config *cfg, const struct cmdline *line)
{
    const char *weights = cmdline_value(line, "--weights");
    struct session *s = &b->session;
    bool infer = cmdline_has(line, "--inference");

    b->cfg = cfg;
    b->which = infer ? SESSION_EVAL : SESSION_TRAIN;
    if (weights)
        json_decref(run_classes(cfg, line, weights));
    if (infer)
        config_set(cfg, "TRAIN.EMA.ENABLE", "False");
    /* The configuration in the weights file may set DATA.VAL_BATCH_SIZE. */
    if (infer && cmdline_key(line, "DATA.BATCH_SIZE") &&
        !cmdline_key(line, "DATA.VAL_BATCH_SIZE"))
        config_set(cfg, "DATA.VAL_BATCH_SIZE", "0");
    session_init(s, cfg, &(struct session_options){.train = !infer, .eval = infer});
    if (s->plan.amp_slow)
        log_warning("%s", s->plan.amp_remark);
    busy_note(s);
}

/* Compiles the program and loads --weights, if given. */
static void bench_open(struct bench *b, struct config *cfg, const struct cmdline *line)
{
    const char *weights = cmdline_value(line, "--weights");
    struct session *s = &b->session;

    bench_compile(b, cfg, line);
    session_alloc(s);
    if (weights)
        pretrained_load_all(s, weights, "the configuration", &(struct class_list){0});
    if (b->which == SESSION_EVAL)
        session_eval_begin(s, false);
}

static void bench_steps(struct config *cfg, const struct cmdline *line,
                        struct strbuf *json)
{
    struct bench b = {0};
    struct session *s = &b.session;
    struct bench_convs c;
    bool convs = cmdline_has(line, "--convs"), trace = cmdline_has(line, "--trace");
    double step, seconds = positive_number(line, "--seconds", default_seconds);

    bench_open(&b, cfg, line);
    bench_batch(&b);
    time_steps(&b, seconds);
    warn_skipped_steps(&b);
    step = median(b.seconds, b.nsteps);
    say("%s: %.1f img/s, %.2f ms per step (median of %d), batch %" PRId64
        ", %s, %s: %s; peak %.2f GiB in the process\n",
        cfg->model.name, (double)b.batch / step, step * 1e3, b.nsteps, b.batch,
        compute_of(s), s->backend->name, s->backend->describe(s->device),
        (double)peak_rss() / (1 << 30));
    if (convs) {
        c = bench_convs(s, CONV_RUNS);
        bench_convs_print(&c, step, (double)s->plan.batch, trace);
    }
    if (trace)
        bench_program_print(s->program[b.which], CONV_RUNS,
                            bench_copy(s->backend, s->device));
    add_json(&b, step, convs ? &c : NULL, json);
    if (convs)
        bench_convs_release(&c);
    session_host_free(s, b.pixels);
    session_host_free(s, b.labels);
    session_host_free(s, b.keys);
    session_host_free(s, b.jobs);
    session_release(s);
    free(b.seconds);
}

/* --tune: with --inference for the shapes of evaluation. */
static void tune(struct config *cfg, const struct cmdline *line)
{
    struct bench b = {0};
    bool infer = cmdline_has(line, "--inference");

    bench_compile(&b, cfg, line);
    if (b.session.backend != &backend_cpu)
        config_refuse(cfg, KEYS("DEVICE"),
                      "--tune measures kernels of the CPU: use --device cpu (GPUs choose "
                      "theirs with CUDNN.BENCHMARK)");
    bench_tune(&b.session, infer ? BUILD_EVAL : BUILD_TRAIN);
    session_release(&b.session);
}

static void bench_op_rows(struct config *cfg, const struct cmdline *line,
                          struct strbuf *json)
{
    struct bench_ops o = {
        .pattern = line->narg ? line->arg[0].text : NULL,
        .batch = whole_number(line, "--batch"),
        .json = json,
    };
    struct device_options d;
    const struct backend *backend = device_options(cfg, &d);
    struct device *dev = backend->open(&d);

    bench_ops(backend, dev, &o);
    backend->close(dev);
}

static void compare_files(const struct cmdline *line)
{
    const char *path = cmdline_value(line, "--measured");
    char *text = file_read(path, NULL);

    if (!text)
        die("cannot read '%s': %s", path, file_strerror(errno));
    bench_against(text, path, cmdline_value(line, "--against"),
                  positive_number(line, "--min-ratio", BENCH_AGAINST_RATIO));
    free(text);
}

static int bench_run(struct config *cfg, const struct cmdline *line)
{
    struct strbuf json = STRBUF_INIT;

    run_reserve_stdout(line);
    if (cmdline_has(line, "--measured")) {
        compare_files(line);
        return EXIT_OK;
    }
    if (cmdline_has(line, "--loader"))
        bench_loader(cfg, positive_number(line, "--seconds", default_seconds), &json);
    else if (cmdline_has(line, "--ops"))
        bench_op_rows(cfg, line, &json);
    else if (cmdline_has(line, "--tune"))
        tune(cfg, line);
    else
        bench_steps(cfg, line, &json);
    write_and_compare(line, &json);
    strbuf_release(&json);
    return EXIT_OK;
}

/* Returns the flag that selects what to measure, or "" for a training step. */
static const char *bench_mode(const struct cmdline *line)
{
    return cmdline_has(line, "--loader")      ? "--loader"
           : cmdline_has(line, "--ops")       ? "--ops"
           : cmdline_has(line, "--inference") ? "--inference"
                                              : "";
}

/* --tune stores choices and has no other result. */
static void check_tune(const struct config *cfg, const struct cmdline *line,
                       struct problems *p)
{
    static const char *const other[] = {"--json",  "--seconds", "--convs",   "--trace",
                                        "--ops",   "--loader",  "--against", "--weights",
                                        "--batch", NULL};

    for (int i = 0; other[i]; i++)
        if (cmdline_has(line, other[i]))
            problems_error(p, other[i], "has no effect with --tune");
    if (!*cache_dir(cfg->cudnn.cache))
        config_blame(cfg, p, KEYS("CUDNN.CACHE"),
                     "--tune writes into the folder CUDNN.CACHE, which is empty");
    if (cfg->cudnn.deterministic)
        config_blame(
            cfg, p, KEYS("CUDNN.DETERMINISTIC"),
            "--tune has no effect with CUDNN.DETERMINISTIC, which chooses kernels "
            "by rule");
}

/* A flag without effect is an error, because its user expects it to change the result. */
static void check_flags(const struct cmdline *line, struct problems *p)
{
    static const struct {
        const char *flag, *mode, *other; /* the flag has an effect in these two modes */
    } effect[] = {
        {"--ops", "--ops", "--ops"},
        {"--batch", "--ops", "--ops"},
        {"--convs", "", ""},
        {"--trace", "", "--inference"},
        {"--inference", "--inference", "--inference"},
        {"--weights", "--inference", "--inference"},
    };
    const char *mode = bench_mode(line);

    if (cmdline_has(line, "--seconds") && !strcmp(mode, "--ops"))
        problems_error(p, "--seconds", "has no effect with --ops");
    for (size_t i = 0; i < sizeof(effect) / sizeof(*effect); i++)
        if (cmdline_has(line, effect[i].flag) && strcmp(mode, effect[i].mode) != 0 &&
            strcmp(mode, effect[i].other) != 0)
            problems_error(p, effect[i].flag, "has no effect %s%s",
                           *mode ? "with " : "without ", *mode ? mode : effect[i].mode);
    if (line->narg && strcmp(mode, "--ops") != 0)
        problems_error(p, NULL, "'%s' selects rows of the op table, which needs --ops",
                       line->arg[0].text);
    else if (line->narg && !bench_ops_match(line->arg[0].text))
        problems_error(p, NULL, "no row of the op table matches '%s'", line->arg[0].text);
}

static void bench_check(const struct config *cfg, const struct cmdline *line,
                        struct problems *p)
{
    bench_against_check(line, p);
    if (cmdline_has(line, "--measured"))
        return; /* nothing runs */
    if (cmdline_has(line, "--loader")) {
        data_check(cfg, p);
        data_check_split(cfg, DATA_TRAIN, p);
    } else if (!cmdline_has(line, "--ops")) {
        model_check(cfg, p);
        model_check_whole(cfg, p);
        optimizer_config_check(cfg, p);
        schedule_check(cfg, p);
        data_check_names(cfg, p);
    }
    if (cfg->eval_mode || cfg->throughput_mode)
        problems_warn(
            p, "bench",
            "EVAL_MODE and THROUGHPUT_MODE have no effect: trainc bench times training "
            "steps; --inference times evaluation");
    run_check_unread_weights(cfg, line, p);
    if (cmdline_has(line, "--weights"))
        run_check_own_weights(cfg, line, p);
    device_check_one(cfg, p);
    check_flags(line, p);
    if (cmdline_has(line, "--tune"))
        check_tune(cfg, line, p);
    run_check_writable(line, "--json", WRITTEN_JSON, p);
}

static const char *bench_weights(const struct cmdline *line)
{
    return cmdline_value(line, "--weights");
}

static const struct cmd_flag bench_flags[] = {
    {"--json", "FILE",
     "also write the result to FILE as JSON (-: standard output, without other text)"},
    {"--seconds", "N", "time steps, or the loader, for N seconds (5)"},
    {"--convs", NULL,
     "also time only the convolutions: those of the library, and our own for comparison"},
    {"--trace", NULL, "also print the time of each kernel call"},
    {"--ops", NULL, "time the rows of the op table instead; an argument selects rows"},
    {"--batch", "N",
     "with --ops: batch size of every row (default: each row's own; on a GPU 16 times "
     "that)"},
    {"--inference", NULL, "time the forward pass of evaluation instead of training"},
    {"--weights", "FILE",
     "with --inference: time the model in FILE with its weights; FILE may be an int8 "
     "model of `trainc quantize`"},
    {"--tune", NULL,
     "on a CPU: time every kernel that can compute a convolution or linear layer of the "
     "network, and store those more than 5 % faster than the usual one in CUDNN.CACHE, "
     "for later runs with these shapes on this processor"},
    {"--loader", NULL, "time the loader of the configured data set instead"},
    {"--against", "FILE",
     "compare with an earlier result (of --json or train --result); the exit code is 1 "
     "if new speed / old speed is below --min-ratio"},
    {"--min-ratio", "R", "smallest acceptable ratio of new speed to old speed (0.9)"},
    {"--measured", "FILE", "with --against: compare this result instead of measuring"},
    {0},
};

const struct verb cmd_bench = {
    .name = "bench",
    .examples = (const char *const[]){"trainc bench --model resnet50 --batch-size 16",
                                      "trainc bench --cfg my.yaml --loader", NULL},
    .help = "measure the speed of a training step, inference, single ops, or the loader",
    .about = "Times whole training steps on synthetic pixels: forward, backward, and "
             "optimizer; with --inference, evaluation steps. Times are medians.",
    .args = "[GLOB]",
    .max_args = 1,
    .flags = bench_flags,
    .weights = bench_weights,
    .check = bench_check,
    .run = bench_run,
};
