/*
 * trainc [VERB] ...: finds the verb, reads the command line and the configuration, and
 * hands over. The first verb of the table is the default.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mapped_fault.h"
#include "cmd/cmd.h"
#include "cmd/run.h"
#include "config/config.h"
#include "config/dump.h"
#include "config/foreign.h"
#include "config/print.h"
#include "config/schema.h"
#include "cpu/spin.h"
#include "dist/launch.h"
#include "session/job.h"
#include "session/model_config.h"
#include "train/hub_config.h"
#include "train/job_data.h"
#include "train/weights_fetch.h"

/* Started without them, we would write messages into the files that take their places. */
static void open_standard_files(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            _exit(EXIT_FAILED);
}

/* What was printed may still have to reach a disk that is full. */
static void check_output(void)
{
    bool failed = ferror(stdout);

    errno = 0;
    if (fflush(stdout) || failed)
        die("cannot write the output: %s",
            errno ? strerror(errno) : "some of it is lost");
}

/* The verb, and in *first the index of the first argument after it. */
static const struct verb *choose_verb(int argc, char **argv, int *first)
{
    const char *name = argc > 1 ? argv[1] : "--help";
    const struct verb *v = verb_find(name);

    *first = v ? 2 : 1;
    if (v || strchr("-@", *name) || strchr(name, '=') || foreign_path(name))
        return v ? v : verb_table[0];
    return verb_named(name); /* which ends the program */
}

static void print_config(const struct config *cfg, const char *how)
{
    struct strbuf s = STRBUF_INIT;

    config_print_names(
        &s, cfg, CONFIG_PRINT_HELP | CONFIG_PRINT_ORIGIN | (*how ? CONFIG_PRINT_DIFF : 0),
        cmd_key_names);
    fputs(s.buf, stdout);
    strbuf_release(&s);
}

/* --known-args-only: argparse's parse_known_args for scripts that wrap trainc. The first
 * document can be given to --cfg. */
static void print_known(const struct config *cfg, const struct cmdline *line)
{
    struct strbuf s = STRBUF_INIT;

    config_print(&s, cfg, CONFIG_PRINT_DIFF);
    if (!s.len)
        strbuf_addstr(&s, "{}\n");
    strbuf_addstr(&s, line->nrest ? "---\n" : "---\n[]\n");
    for (int i = 0; i < line->nrest; i++) {
        struct value v = {.type = VALUE_STR, .s = line->rest[i].text};

        strbuf_addstr(&s, "- ");
        value_add_yaml(&s, &v);
        strbuf_addch(&s, '\n');
    }
    fputs(s.buf, stdout);
    strbuf_release(&s);
}

static bool known_only(const struct cmdline *line)
{
    return cmdline_has(line, CMD_KNOWN_ARGS_ONLY);
}

static void choose_log(const struct verb *v, const struct cmdline *line)
{
    const char *result = v->log_stdout ? cmdline_value(line, "--result") : NULL;

    if (v->log_stdout && !(result && !strcmp(result, "-")))
        log_to_stdout();
}

/* Sets the defaults that follow from the job; for verbs that do not train, only those of
 * the splits and of the model's input. */
static void follow_job(struct config *cfg, const struct verb *v,
                       const struct cmdline *line)
{
    struct job job = {.world = 1};
    bool trains = verb_reads(v, "TRAIN.EPOCHS") || (v->trains && v->trains(line));

    if (trains || v->reads_splits)
        job_preset_splits(cfg);
    if (trains) {
        job = job_look(cfg);
        job_preset_model(cfg, &job);
        model_preset(cfg);
    }
    job_preset_input(cfg);
    if (trains)
        job_preset(cfg, &job);
}

/* Prints the mistakes; returns the exit code. All processes of a run have the same ones:
 * the first process prints them, and the launcher ends the others while they wait. */
static int refuse(const struct verb *v, const struct cmdline *line, struct problems *p,
                  bool understood, int code)
{
    if (understood && v->refuse)
        v->refuse(line, p, code);
    if (dist_launched().rank)
        (void)sleep(2);
    problems_print(p);
    if (!understood)
        (void)fprintf(stderr, "trainc: see `trainc help %s`\n", v->name);
    return code;
}

/* Runs the verb, after the weights that it needs have been downloaded. */
static int fetch_and_run(const struct verb *v, struct config *cfg,
                         const struct cmdline *line, struct problems *p)
{
    if (!weights_fetch_wanted(cfg, p))
        return refuse(v, line, p, true, EXIT_FAILED);
    return v->run(cfg, line);
}

/* Everything that is wrong is printed before anything is touched. */
static int run(const struct verb *v, struct cmdline *line, struct problems *p)
{
    struct config cfg;
    int code = EXIT_OK;
    bool understood = !p->nerror; /* the command line was */
    bool prints = line->print || known_only(line);

    choose_log(v, line);
    run_use_saved_config(v, line);
    (void)config_load(&cfg, line, p);
    run_reset_start_keys(&cfg, line);
    run_use_saved_graph(&cfg);
    pretrained_preset(&cfg);
    hub_config_preset(&cfg, !p->nerror && verb_reads(v, "MODEL.NAME"), p);
    model_preset(&cfg);
    if (!p->nerror && job_decides(&cfg) && !known_only(line) &&
        verb_reads(v, "DATA.IMG_SIZE"))
        follow_job(&cfg, v, line);
    input_preset(&cfg);
    if (v->check && !prints)
        v->check(&cfg, line, p);
    if (!prints)
        verb_check_read(v, &cfg, line, p);
    if (p->nerror) {
        code = refuse(v, line, p, understood, EXIT_USAGE);
    } else {
        if (v->weights && v->weights(line)) /* training has told of its keys */
            problems_drop_unread(p);
        if (!dist_launched().rank) /* warnings of all processes are the same */
            problems_print(p);
        log_level_set((enum log_level)cfg.log.level);
        if (known_only(line))
            print_known(&cfg, line);
        else if (line->print)
            print_config(&cfg, line->print);
        else
            code = fetch_and_run(v, &cfg, line, p);
    }
    config_release(&cfg);
    return code;
}

/* `prefixes` is of the caller, and has to live as long as the result. */
static struct cmd_spec spec_of(const struct verb *v, int argc, char **argv,
                               struct strbuf *prefixes)
{
    const char *more = v->known_args ? cmdline_peek(argc, argv, CMD_PREFIX_CHARS) : NULL;
    struct cmd_spec spec = {
        .schema = schema_table, .flags = v->flags, .max_args = v->max_args};

    spec.keep_unknown = v->known_args && cmdline_peek(argc, argv, CMD_KNOWN_ARGS_ONLY);
    strbuf_addf(prefixes, "-%s", more ? more : "");
    spec.prefixes = prefixes->buf;
    return spec;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct strbuf prefixes = STRBUF_INIT;
    struct problems p = {0};
    struct cmdline line;
    int first, code = EXIT_OK;

    open_standard_files();
    (void)signal(SIGXFSZ, SIG_IGN); /* ulimit -f: failed writes are reported */
    mapped_fault_install();
    spin_briefly(argv);
    if (argc < 2 || !strcmp(argv[1], "-h") || !strcmp(argv[1], "--help")) {
        help_overview();
        check_output();
        return argc < 2 ? EXIT_USAGE : EXIT_OK;
    }

    const struct verb *v = choose_verb(argc, argv, &first);
    if (v->main && !asks_for_help(argc - first, argv + first)) {
        code = v->main(argc - first, argv + first);
        check_output();
        return code;
    }

    struct cmd_spec spec = spec_of(v, argc - first, argv + first, &prefixes);

    cmdline_parse(&line, &spec, argc - first, argv + first, &p);
    if (line.help)
        help_verb(v, false);
    else if (line.version)
        version_print();
    else
        code = run(v, &line, &p);
    problems_release(&p);
    cmdline_release(&line);
    strbuf_release(&prefixes);
    check_output();
    return code;
}
