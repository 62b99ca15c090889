/*
 * Shared by the parts of the command line parser: words (cmdline_words.c), keys and
 * values (cmdline_keys.c), flags (cmdline_flags.c), and the whole line (cmdline.c).
 * Private to src/config.
 */
#ifndef CONFIG_CMDLINE_PARSER_H
#define CONFIG_CMDLINE_PARSER_H

#include "config/atfile.h"
#include "config/cmdline.h"
#include "config/flags.h"

struct parser {
    struct cmdline *line;
    const struct cmd_spec *spec;
    struct problems *p;
    struct flags flags;
    struct atword *word;
    int n, cap, i, nopts;
    int nfiles;   /* number of @files read */
    int nforeign; /* number of errors about flags of other trainers */
    /* The switch, without a value, in the previous word; or NULL. */
    const struct flag_name *switch_flag;
    bool only_args; /* true after -- */
};

/* Inserts a word at index `pos`. */
void parser_put(struct parser *ps, int pos, struct atword w);
/* Replaces @FILE at the current index by the words of the file. Returns false if the
 * current word is not @FILE. */
bool parser_expand(struct parser *ps);

/* Append to arrays of the command line. */
void cmdline_add_word(struct cmd_word **array, int *n, struct atword w,
                      struct arena *mem);
void cmdline_add_set(struct cfgnode_pair **array, int *n, struct cfgnode_pair set,
                     struct arena *mem);

bool parser_is_prefix(const struct parser *ps, char c);
/* True if a word is an argument or the value of a flag, not a flag. */
bool parser_is_value(struct parser *ps, const struct atword *w);
/* Returns the current word and advances, if it is a value; otherwise returns false. */
bool parser_next_value(struct parser *ps, struct atword *w);

/* True if the text is a key of the schema, or such a key before =. It ends preceding
 * lists. */
bool parser_is_key(struct parser *ps, const char *text);
/* Sets the key of the flag `name` at the word `word`. */
void parser_set_key(struct parser *ps, const struct flag_name *name, const char *text,
                    const struct atword *word);
/*
 * Returns the text of a list flag: a b c becomes [a, b, c] (the words after `first` only
 * if `more`); a single value becomes a list; [a, b] in several words is joined. Reports
 * errors and returns NULL.
 */
const char *parser_list_text(struct parser *ps, const struct flag *flag,
                             const char *first, bool more);
/* Processes KEY=VALUE; bare: outside --opts. */
void parser_pair(struct parser *ps, struct atword w, bool bare);
/* Processes --opts and its keys; `value` is the text after =, or NULL. */
void parser_opts(struct parser *ps, const struct flag *flag, const char *value);

/* Processes a word that looks like a flag, and its values. Returns false if it is
 * unknown. */
bool parser_flag(struct parser *ps, struct atword word);

#endif
