/*
 * Trees and values as text. What cfgnode_dump and value_add_yaml write reads back as the
 * same values, texts like '5', '1e-3', 'None' and "'x'" included, into a tree whose keys
 * have types; into an empty one, too, but for texts in quotes, which get a second pair.
 */
#ifndef CONFIG_DUMP_H
#define CONFIG_DUMP_H

#include "config/cfgnode.h"

/* str(cfg) and repr(cfg) of yacs. */
void cfgnode_str(struct strbuf *s, const struct cfgnode *n);
void cfgnode_repr(struct strbuf *s, const struct cfgnode *n);

/*
 * cfg.dump(): what yaml.safe_dump writes, keys sorted, block style, tuples as lists;
 * texts that would read back as something else are quoted beyond that.
 */
void cfgnode_dump(struct strbuf *s, const struct cfgnode *n);

/* One line of YAML in UTF-8: [1, 2], 1.0e-08, 'yes', None as null. */
void value_add_yaml(struct strbuf *s, const struct value *v);

/* A text for behind a #: what would end the line, or the file's being YAML, escaped. */
void yaml_add_comment(struct strbuf *s, const char *text);

/* The entries of a node in the order of their keys' bytes; the caller frees the array. */
const struct cfgnode_entry **cfgnode_sorted(const struct cfgnode *n);

#endif
