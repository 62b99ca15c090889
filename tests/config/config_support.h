/*
 * For tests of src/config: trees from YAML text, lists of pairs from one string, problems
 * as one string, and configurations from a command line.
 */
#ifndef TESTS_CONFIG_CONFIG_SUPPORT_H
#define TESTS_CONFIG_CONFIG_SUPPORT_H

#include "base/strbuf.h"
#include "config/cfgnode.h"

/* Returns a tree whose leaves have the types of their values, including tuples: "T: (1,
 * 2)"; a list has the type of its first item, None is a string. */
struct cfgnode *support_tree(const char *yaml);

/* Merges "KEY=VALUE|KEY=VALUE", and the text of a file. */
void support_merge_list(struct cfgnode *n, const char *pairs, struct problems *p);
void support_merge_yaml(struct cfgnode *n, const char *yaml, struct problems *p);

/* Appends "error: a\nwarning: b\n"; empties `p`. */
void support_problems(struct strbuf *s, struct problems *p);

/* Appends {'a': 1, 'b': {'c': (1, 2)}}. */
void support_show(struct strbuf *s, const struct cfgnode *n);

/* Creates a file in a new temporary folder, which support_cleanup deletes. */
const char *support_file(const char *name, const char *text);
void support_cleanup(void);

/*
 * Loads the configuration of a command line: words are separated by spaces, and %s is
 * replaced by `file`. Appends problems to `says`. Returns false if there are errors.
 */
struct config;
bool support_load(struct config *cfg, struct strbuf *says, const char *words,
                  const char *file);

/* Fails unless the messages are exactly `want`; names of temporary folders are
 * removed. */
void support_says(const char *words, const char *file, const char *want);

#endif
