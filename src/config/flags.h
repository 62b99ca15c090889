/*
 * All flags of one command line by name: those of the schema, those of the verb, and
 * --cfg, --opts, --print-config, --help and --version.
 */
#ifndef CONFIG_FLAGS_H
#define CONFIG_FLAGS_H

#include "config/cmdline.h"
#include "config/schema.h"

struct flag {
    enum {
        FLAG_KEY,
        FLAG_OWN,
        FLAG_CFG,
        FLAG_OPTS,
        FLAG_PRINT,
        FLAG_HELP,
        FLAG_VERSION
    } kind;
    const char *names;          /* "-b, --batch-size" */
    const struct schema *row;   /* FLAG_KEY */
    const struct cmd_flag *own; /* FLAG_OWN */
    const char *value; /* FLAG_KEY: what it sets, taking none; NULL: it takes one */
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
 * The flag of the first `len` bytes of `text`: its name, with _ for -, or the beginning
 * of just one long name. NULL: none; if *several begin so, they are reported.
 */
const struct flag_name *flags_find(const struct flags *f, const char *text, size_t len,
                                   struct problems *p, bool *several);

/* The flag whose name is just this; NULL: none. */
const struct flag_name *flags_exact(const struct flags *f, const char *text, size_t len);

/* The nearest long name, for "did you mean"; NULL: none is near. */
const char *flags_suggest(const struct flags *f, const char *text, struct arena *mem);

/* Are the first len bytes of `text`, with _ for - where it likes, those of `name`? */
bool flag_same_name(const char *text, const char *name, size_t len);

bool flag_is_bool(const struct flag *flag); /* takes no value, or =true */
bool flag_is_list(const struct flag *flag); /* takes one value or several */
bool flag_wants_value(const struct flag *flag);

/* A flag's value as --opts would be given it: 01 is 1, as for Python's int(), and quotes
 * around a text are of the text. */
const char *flag_text(const struct flag *flag, const char *text, struct arena *mem);

/* Says what argparse says of a wrong type or word (false); ranges are checked later. */
bool flag_check(const struct flag *flag, const char *text, struct arena *mem,
                struct problems *p);

/* "argument -b/--batch-size", for messages; "--batch-size", the first long name. */
const char *flag_argument(const struct flag *flag, struct arena *mem);
const char *flag_long(const struct flag *flag, struct arena *mem);

#endif
