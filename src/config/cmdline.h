/*
 * Parses the command line: flags, --cfg files, --opts, positional arguments, @files.
 *
 *   --batch-size 3, --batch_size=3, -b3, --batch-s 3 (a unique prefix, with a note)
 *   --amp, --no-amp, --amp=false
 *   --opts KEY VALUE KEY=VALUE ...    any key of the schema; may be repeated
 *   KEY=VALUE                         the same
 *   --opts KEY [1, 2] KEY VALUE ...   a list may be several words, unless KEY is a text
 *   -c, --cfg FILE                    may be repeated, later files win; -: standard input
 *   @FILE                             arguments from a file: words as in a shell, with
 *                                     comments after #
 *
 * The caller may select other prefix characters for flags, and may collect unknown
 * arguments for later, as with argparse's prefix_chars and parse_known_args.
 *
 * A flag of the schema sets its key and overrides --opts regardless of the order. All
 * errors go to `problems`. Nothing is printed, and only @files are read.
 */
#ifndef CONFIG_CMDLINE_H
#define CONFIG_CMDLINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/cfgnode.h"

struct schema;

/* A flag that is not a key of the schema. */
struct cmd_flag {
    const char *flag;    /* "--json", or "-q, --quiet"; NULL ends the array */
    const char *metavar; /* name of its value; NULL for a switch */
    const char *help;
};

struct cmd_word {
    const char *text;
    const char *origin; /* "argument 3", or "train.args:2:1" */
};

struct cmdline {
    /* --cfg files; positional arguments; unknown arguments. In the order of the command
     * line. */
    struct cmd_word *cfg, *arg, *rest;
    int ncfg, narg, nrest;
    /* --opts; flags of the schema, by key; the verb's own flags, as the verb spells them,
     * with text NULL for switches. */
    struct cfgnode_pair *opt, *flag, *command;
    int nopt, nflag, ncommand;
    /* YAML merged before all files, and its name in messages; NULL: none. Set by verbs,
     * from a checkpoint. */
    const char *saved, *saved_name;
    const char *print;  /* --print-config: "" or "diff"; otherwise NULL */
    const char *words;  /* all arguments, @files expanded, as one string */
    bool help, version; /* -h or --version came before any error; ignore everything
                         * else */
    struct arena mem;
};

/* The flags and arguments of a command. */
struct cmd_spec {
    const struct schema *schema;
    const struct cmd_flag *flags; /* may be NULL */
    int max_args;                 /* maximum number of positional arguments */
    /* Characters that start a flag. With "-+", +b 3 and ++batch-size 3 mean the same as
     * -b 3, and `flags` may have names like "+f, ++file"; with "+", -b is an argument.
     * NULL: "-". */
    const char *prefixes;
    /* Unknown flags, arguments, and KEY=VALUE are not errors, but collected in `rest`. */
    bool keep_unknown;
};

/* argv[0] is the first argument, not the program. */
void cmdline_parse(struct cmdline *line, const struct cmd_spec *spec, int argc,
                   char **argv, struct problems *problems);
void cmdline_release(struct cmdline *line);

/* True if the origin of a pair is --opts or a bare KEY=VALUE. */
bool cmdline_is_opts(const char *origin);

/* For a flag that affects parsing: returns its value (after = or in the next word),
 * looking only before "--", or NULL if it is absent. */
const char *cmdline_peek(int argc, char **argv, const char *flag);

/* Returns the last value of one of the verb's flags, or NULL if it is absent. */
const char *cmdline_value(const struct cmdline *line, const char *flag);
bool cmdline_has(const struct cmdline *line, const char *flag); /* also for switches */
/* Returns the unparsed value of a schema key from a flag or, failing that, from --opts;
 * or NULL. */
const char *cmdline_key(const struct cmdline *line, const char *key);

#endif
