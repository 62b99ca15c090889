/*
 * The flags of a command by name: those of the schema, those of the verb, and --cfg,
 * --opts, --print-config, --help, and --version.
 */
#ifndef CONFIG_FLAGS_H
#define CONFIG_FLAGS_H

#include "config/cmdline.h"
#include "config/schema.h"

struct flag {
    enum {
        FLAG_KEY,
        FLAG_COMMAND,
        FLAG_CFG,
        FLAG_OPTS,
        FLAG_PRINT,
        FLAG_HELP,
        FLAG_VERSION
    } kind;
    const char *names;              /* "-b, --batch-size" */
    const struct schema *row;       /* FLAG_KEY */
    const struct cmd_flag *command; /* FLAG_COMMAND */
    const char *value; /* FLAG_KEY: the value it sets if it takes none; NULL: it takes a
                        * value */
};

struct flag_name {
    const char *name; /* "--batch-size" */
    const struct flag *flag;
    bool no; /* --no-x: sets False */
};

struct flags {
    struct flag_name *name;
    int n, cap;
    struct arena mem;
};

void flags_init(struct flags *f, const struct cmd_spec *spec);
void flags_release(struct flags *f);

/*
 * Finds a flag by the first `len` bytes of `text`: its name (_ counts as -), or a unique
 * prefix of a long name. Returns NULL if there is none. If the prefix is ambiguous, sets
 * *several and reports it.
 */
const struct flag_name *flags_find(const struct flags *f, const char *text, size_t len,
                                   struct problems *p, bool *several);

/* Returns the flag with exactly this name, or NULL. */
const struct flag_name *flags_exact(const struct flags *f, const char *text, size_t len);

/* Returns the most similar long name, for "did you mean", or NULL. */
const char *flags_suggest(const struct flags *f, const char *text, struct arena *mem);

/* True if the first `len` bytes of `text` equal `name`; _ counts as -. */
bool flag_same_name(const char *text, const char *name, size_t len);

bool flag_is_bool(const struct flag *flag); /* takes no value, or =true */
bool flag_is_list(const struct flag *flag); /* takes one or more values */
bool flag_wants_value(const struct flag *flag);

/* Converts a flag's value to the syntax of --opts: 01 becomes 1, as with Python's int(),
 * and quotes around a text are kept. */
const char *flag_text(const struct flag *flag, const char *text, struct arena *mem);

/* Returns false and reports a wrong type or choice, as argparse does. Ranges are checked
 * later. */
bool flag_check(const struct flag *flag, const char *text, struct arena *mem,
                struct problems *p);

/* flag_argument returns "argument -b/--batch-size" for messages; flag_long returns
 * "--batch-size", the first long name. */
const char *flag_argument(const struct flag *flag, struct arena *mem);
const char *flag_long(const struct flag *flag, struct arena *mem);

#endif
