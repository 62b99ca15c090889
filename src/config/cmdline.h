/*
 * The command line: flags, --cfg files, --opts, positional arguments, @files.
 *
 *   --batch-size 3, --batch_size=3, -b3, --batch-s 3 (a unique beginning; a note says so)
 *   --amp, --no-amp, --amp=false
 *   --opts KEY VALUE KEY=VALUE ...    any key of the schema; may be repeated
 *   KEY=VALUE                         the same
 *   --opts KEY [1, 2] KEY VALUE ...   a list may be cut into words, if KEY is no text
 *   -c, --cfg FILE                    may be repeated, later files win; -: the input
 *   @FILE                             arguments from a file: words as in a shell, with
 *                                     comments after #
 *
 * The caller may let flags start with other characters beside or in place of -, and may
 * keep what it does not know for later, as argparse's prefix_chars and parse_known_args.
 *
 * A flag of the schema sets its key and beats --opts wherever it stands. Mistakes go to
 * `problems`, all of them; nothing is printed and nothing is read but @files.
 */
#ifndef CONFIG_CMDLINE_H
#define CONFIG_CMDLINE_H

#include <stdbool.h>

#include "base/arena.h"
#include "config/cfgnode.h"

struct schema;

/* A flag that is no key of the schema. */
struct cmd_flag {
    const char *flag;    /* "--json", or "-q, --quiet"; NULL ends the array */
    const char *metavar; /* of its value; NULL: a switch */
    const char *help;
};

struct cmd_word {
    const char *text;
    const char *where; /* "argument 3", or "train.args:2:1" */
};

struct cmdline {
    /* --cfg files; positionals; what was not known, in the order of the command line. */
    struct cmd_word *cfg, *arg, *rest;
    int ncfg, narg, nrest;
    /* --opts; flags of the schema, by the names of their keys; the verb's own, as the
     * verb spells them, their text NULL if they are switches. */
    struct cfgnode_pair *opt, *flag, *own;
    int nopt, nflag, nown;
    /* YAML that comes before all files, and what to call it in messages; NULL: none. Not
     * of the command line: a verb finds it in a checkpoint. */
    const char *saved, *saved_name;
    const char *print;  /* --print-config: "" or "diff"; else NULL */
    const char *words;  /* all arguments, @files by their words, to be read as one */
    bool help, version; /* -h, --version came before any mistake; nothing else counts */
    struct arena mem;
};

/* What is known on this command line. */
struct cmd_spec {
    const struct schema *schema;
    const struct cmd_flag *flags; /* may be NULL */
    int max_args;                 /* positional arguments */
    /* What a flag starts with: "-+" lets +b 3 and ++batch-size 3 set what -b 3 sets, and
     * `flags` may have names like "+f, ++file" of their own; with "+", -b is an argument.
     * NULL: "-". */
    const char *prefixes;
    /* Flags, arguments and KEY=VALUE that are not known are no mistakes, but stay in
     * `rest`, for a caller that hands them on. */
    bool keep_unknown;
};

/* argv[0] is the first argument, not the program. */
void cmdline_parse(struct cmdline *line, const struct cmd_spec *spec, int argc,
                   char **argv, struct problems *problems);
void cmdline_release(struct cmdline *line);

/* Is the origin `where` of a pair --opts, or a KEY=VALUE of its own? */
bool cmdline_is_opts(const char *where);

/* Before parsing, of a flag that says how to parse: is it among the words before "--"?
 * What follows its =, or the next word; NULL: it is not there. */
const char *cmdline_peek(int argc, char **argv, const char *flag);

/* The last value of one of the verb's flags; NULL if it was not given. */
const char *cmdline_value(const struct cmdline *line, const char *flag);
bool cmdline_has(const struct cmdline *line, const char *flag); /* of a switch, too */
/* What --opts or, stronger, a flag says of a key of the schema, as it stands; or NULL. */
const char *cmdline_key(const struct cmdline *line, const char *key);

#endif
