/*
 * A verb of the command line: `trainc VERB ...`. Each verb has a file, src/cmd/NAME.c,
 * which defines cmd_NAME; src/cmd/verbs.c lists all verbs.
 *
 * main reads the command line, loads the configuration, and calls check(), which may add
 * errors (an unknown model, a path that is not set). main then prints all errors. So run()
 * gets a checked configuration, which it may change; it returns the exit code. After an
 * error main calls refuse() instead of run().
 *
 *   static const struct cmd_flag bench_flags[] = {
 *       {"--json", "FILE", "write the result to FILE"},
 *       {"--loader", NULL, "measure only the loader"},
 *       {0},
 *   };
 *
 *   static int bench_run(struct config *cfg, const struct cmdline *line)
 *   {
 *       const char *json = cmdline_value(line, "--json");
 *       bool loader = cmdline_has(line, "--loader");
 *       ...
 *   }
 *
 *   const struct verb cmd_bench = {
 *       .name = "bench",
 *       .help = "measure a model's speed",
 *       .flags = bench_flags,
 *       .run = bench_run,
 *   };
 */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include "config/cmdline.h"
#include "config/config.h"
#include "config/names.h"

struct verb {
    const char *name;
    const char *help;             /* one line, for the list of verbs */
    const char *about;            /* a paragraph for `trainc help NAME`; may be NULL */
    const char *const *examples;  /* complete commands; NULL ends the list */
    const char *args;             /* positional arguments: "[GLOB]"; NULL: none */
    int max_args;                 /* the number of positional arguments */
    const struct cmd_flag *flags; /* in addition to the schema's; NULL: none */
    bool known_args;              /* has CMD_KNOWN_FLAGS */
    bool evaluates;               /* with trained weights: the help omits TRAIN's flags */
    bool reads_splits;            /* both of them, as training does */
    bool log_stdout;              /* logs to stdout, unless --result - is given */
    const char *const *reads;     /* the keys or sections ("MODEL.") that it reads, in
                                   * addition to LOG.LEVEL; NULL ends the list, and NULL
                                   * instead of a list means all keys */
    /* Returns the file of weights that the verb starts from, or NULL. Without --cfg the
     * run uses the configuration saved in that file. May be NULL. */
    const char *(*weights)(const struct cmdline *line);
    /* True if defaults depend on the job as in training, even if the verb does not read
     * TRAIN.EPOCHS. May be NULL. */
    bool (*trains)(const struct cmdline *line);
    /* Adds errors to those of the configuration. May be NULL. */
    void (*check)(const struct config *cfg, const struct cmdline *line,
                  struct problems *p);
    /* Called after errors, unless the command line itself is wrong: writes them to
     * --result for other programs. May be NULL. */
    void (*refuse)(const struct cmdline *line, const struct problems *p, int code);
    int (*run)(struct config *cfg, const struct cmdline *line);
    /* Replaces all of the above: receives the unparsed arguments, except --help. */
    int (*main)(int argc, char **argv);
};

/* For scripts that accept trainc's arguments in addition to their own (main.c,
 * print_known). */
#define CMD_KNOWN_ARGS_ONLY "--known-args-only"
#define CMD_PREFIX_CHARS    "--prefix-chars"
#define CMD_KNOWN_FLAGS                                                                  \
    {CMD_KNOWN_ARGS_ONLY, NULL,                                                          \
     "print two YAML documents and exit: the keys that the arguments set, and the list " \
     "of unknown arguments"},                                                            \
    {                                                                                    \
        CMD_PREFIX_CHARS, "CHARS",                                                       \
            "other characters that may start a flag: with +, ++amp and +b 3 are flags"   \
    }

extern const struct verb cmd_average, cmd_cache, cmd_train, cmd_eval, cmd_bench,
    cmd_check, cmd_config, cmd_devices, cmd_export, cmd_features, cmd_help, cmd_init,
    cmd_launch, cmd_models, cmd_pack, cmd_predict, cmd_profile, cmd_quantize, cmd_report,
    cmd_summary, cmd_sweep, cmd_synth;
/* Ends with NULL; the first verb is the default. */
extern const struct verb *const verb_table[];

/* Returns the verb with this name, or NULL if there is none. */
const struct verb *verb_find(const char *name);
/* Returns trainc's verb for another program's, such as train for fit, or NULL. */
const struct verb *verb_elsewhere(const char *name);
/* Returns the verb with this name, or exits with a message that suggests a verb: one that
 * other programs call by this name, or one with a similar spelling. */
const struct verb *verb_named(const char *name);

bool verb_reads(const struct verb *v, const char *key);
/* Warns about keys that the command line sets but the verb does not read. */
void verb_check_read(const struct verb *v, const struct config *cfg,
                     const struct cmdline *line, struct problems *p);

/* The values that a key may have, if a table of another module lists them. */
names_of_key cmd_key_names;
/* Appends the names of the rows (optimizers, schedules, ...) that read the key:
 * "adamw, adam". Appends nothing if all rows of their table read it. */
void cmd_add_readers(struct strbuf *s, const char *key);

void help_overview(void); /* prints the list of verbs */
/* Prints the help of one verb from its flags and the schema. all: every flag that the verb
 * accepts; otherwise its own flags and the usual ones. */
void help_verb(const struct verb *v, bool all);
void version_print(void); /* cmd/version.c */

#endif
