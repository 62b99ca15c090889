/*
 * What the parts of the command line's parser share: the words (cmdline_words.c), keys
 * and their values (cmdline_keys.c), flags (cmdline_flags.c), and the whole line
 * (cmdline.c). Private to src/config.
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
    int nfiles;                 /* @files that were read */
    int nforeign;               /* mistakes that are flags of other trainers */
    const struct flag_name *on; /* the switch of the word before, alone; or NULL */
    bool only_args;             /* after -- */
};

/* The word comes to stand at place `at` of all. */
void parser_put(struct parser *ps, int at, struct atword w);
/* @FILE at the present place becomes the words of the file; false: there is none. */
bool parser_expand(struct parser *ps);

/* Into the arrays of the line. */
void cmdline_add_word(struct cmd_word **array, int *n, struct atword w,
                      struct arena *mem);
void cmdline_add_set(struct cfgnode_pair **array, int *n, struct cfgnode_pair set,
                     struct arena *mem);

bool parser_is_prefix(const struct parser *ps, char c);
/* Whether a word is an argument, or the value of a flag, rather than a flag. */
bool parser_is_value(struct parser *ps, const struct atword *w);
/* The present word, if it is a value, and past it. */
bool parser_next_value(struct parser *ps, struct atword *w);

/* A key of the schema, alone or before a =: what comes before it ends there. */
bool parser_is_key(struct parser *ps, const char *text);
/* The flag `name` at the word `at` sets its key. */
void parser_set_key(struct parser *ps, const struct flag_name *name, const char *text,
                    const struct atword *at);
/*
 * Of a list flag a b c, with `more` in the next words, as [a, b, c]; one value that is no
 * list, as a list of it; [a, b] in words, as one. NULL: reported.
 */
const char *parser_list_text(struct parser *ps, const struct flag *flag,
                             const char *first, bool more);
/* KEY=VALUE; bare: not of --opts. */
void parser_pair(struct parser *ps, struct atword w, bool bare);
/* --opts and its keys; `value` is what followed its =, or NULL. */
void parser_opts(struct parser *ps, const struct flag *flag, const char *value);

/* A word that starts as a flag, with its values; false: it is none that is known. */
bool parser_flag(struct parser *ps, struct atword at);

#endif
