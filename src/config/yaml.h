/*
 * YAML 1.1 to a tree of keys, with libyaml. Scalars mean what PyYAML's SafeLoader says
 * (config/scalar.h); every leaf knows its place, "file:line:col". Anchors, aliases and
 * the merge key `<<` work. Errors, all with their place: what is not YAML, a key twice in
 * one section, tags beyond YAML's own scalars, dates, a second document, aliases that
 * expand to more than 10,000 values, items of lists apart, of which 100,000 may be.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stddef.h>

#include "config/cfgnode.h"

/*
 * The caller frees the tree. It has what could be read, so that its keys can be checked
 * too; NULL if that is nothing. p->nerror tells whether all is well. `where` says who
 * named the file (NULL: nobody). Its name must end in .yaml, .yml, .json or nothing.
 */
struct cfgnode *yaml_read_file(const char *path, const char *where, struct problems *p);

/* `name` stands for the file in messages. */
struct cfgnode *yaml_read_text(const char *text, size_t len, const char *name,
                               struct problems *p);

#endif
