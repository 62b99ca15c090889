/*
 * A verb of the command line: `trainc VERB ...`. A file per verb, src/cmd/NAME.c, which
 * defines cmd_NAME; the table of all verbs is in src/cmd/verbs.c.
 *
 * main reads the command line, loads the configuration and calls check(), which may add
 * to the mistakes (an unknown model, a path that is not set); then it prints all of them.
 * So run() starts with a checked configuration, which it may change. It returns the exit
 * code. After a mistake refuse() is called in its place.
 *
 *   static const struct cmd_flag bench_flags[] = {
 *       {"--json", "FILE", "write the result to FILE"},
 *       {"--loader", NULL, "measure the loader alone"},
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
    const char *const *examples;  /* commands that work as they are; NULL ends them */
    const char *args;             /* positional arguments: "[GLOB]"; NULL: none */
    int max_args;                 /* how many of them */
    const struct cmd_flag *flags; /* in addition to the schema's; NULL: none */
    bool known_args;              /* has CMD_KNOWN_FLAGS */
    bool log_stdout;              /* its log is its output, unless --result - is */
    const char *const *reads;     /* the keys or sections ("MODEL.") that it reads besides
                                   * LOG.LEVEL, NULL at the end; NULL: all keys */
    /* Returns the file of weights that the verb starts from, or NULL. Without --cfg the
     * run takes the configuration that those were trained with. May be NULL. */
    const char *(*weights)(const struct cmdline *line);
    /* True if keys follow from the job as in training, though it does not read
     * TRAIN.EPOCHS. May be NULL. */
    bool (*trains)(const struct cmdline *line);
    /* Adds mistakes to those of the configuration; may be NULL. */
    void (*check)(const struct config *cfg, const struct cmdline *line,
                  struct problems *p);
    /* Called after mistakes, if none is in the command line: writes them where programs
     * look (--result). May be NULL. */
    void (*refuse)(const struct cmdline *line, const struct problems *p, int code);
    int (*run)(struct config *cfg, const struct cmdline *line);
    /* In place of all that: gets the arguments as they are, --help excepted. */
    int (*main)(int argc, char **argv);
};

/* For scripts that take trainc's arguments and others of their own (main.c,
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

extern const struct verb cmd_average, cmd_train, cmd_eval, cmd_bench, cmd_check,
    cmd_config, cmd_devices, cmd_export, cmd_features, cmd_help, cmd_init, cmd_launch,
    cmd_models, cmd_pack, cmd_predict, cmd_profile, cmd_quantize, cmd_report, cmd_summary,
    cmd_sweep, cmd_synth;
extern const struct verb *const verb_table[]; /* NULL ends it; the first is the default */

/* The verb of that name; NULL: none. */
const struct verb *verb_find(const char *name);
/* That, or the end of the program, with the verb that other programs call so, or that is
 * spelt like it. */
const struct verb *verb_named(const char *name);

bool verb_reads(const struct verb *v, const char *key);
/* Warns of the keys that the command line sets and the verb does not read. */
void verb_check_read(const struct verb *v, const struct config *cfg,
                     const struct cmdline *line, struct problems *p);

/* The names that a key may hold, where a table of another module lists them. */
names_of_key cmd_key_names;
/* Appends which rows (optimizers, schedules, ...) read a key that the other rows of their
 * table do not: "adamw, adam"; nothing if all read it. */
void cmd_add_readers(struct strbuf *s, const char *key);

/* The list of verbs; the manual of one verb, made from its flags and the schema. */
void help_overview(void);
/* With `all`, every flag that the verb takes; else its own and the usual ones. */
void help_verb(const struct verb *v, bool all);
void version_print(void); /* cmd/version.c */

#endif
