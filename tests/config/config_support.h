/*
 * For the tests of src/config: trees from YAML text, lists of pairs from one text,
 * problems as one text, and configurations from a command line.
 */
#ifndef TESTS_CONFIG_CONFIG_SUPPORT_H
#define TESTS_CONFIG_CONFIG_SUPPORT_H

#include "base/strbuf.h"
#include "config/cfgnode.h"

/* A tree whose leaves have the types of their values, tuples included: "T: (1, 2)"; a
 * list holds what its first item is, None a text. */
struct cfgnode *support_tree(const char *yaml);

/* Merges "KEY=VALUE|KEY=VALUE"; the text of a file. */
void support_merge_list(struct cfgnode *n, const char *pairs, struct problems *p);
void support_merge_yaml(struct cfgnode *n, const char *yaml, struct problems *p);

/* "error: a\nwarning: b\n", in the caller's strbuf; empties `p`. */
void support_problems(struct strbuf *s, struct problems *p);

/* {'a': 1, 'b': {'c': (1, 2)}} */
void support_show(struct strbuf *s, const struct cfgnode *n);

/* A file below a fresh temporary folder, which support_cleanup removes. */
const char *support_file(const char *name, const char *text);
void support_cleanup(void);

/*
 * The configuration of a command line: words with blanks between them; %s, if there, is
 * `file`. Problems go to `says`. False if there are errors.
 */
struct config;
bool support_load(struct config *cfg, struct strbuf *says, const char *words,
                  const char *file);

/* Fails unless it says just `want`; folder names of temporary files are cut out. */
void support_says(const char *words, const char *file, const char *want);

#endif
