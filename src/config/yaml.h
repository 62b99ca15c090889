/*
 * Reads YAML 1.1 into a tree, with libyaml. Scalars are as in PyYAML's SafeLoader
 * (config/scalar.h). Every leaf has its origin, "file:line:col". Anchors, aliases, and
 * the merge key `<<` are supported. Errors, reported with their place: invalid YAML,
 * duplicate keys in a section, tags other than YAML's own scalars, dates, a second
 * document, and, after expanding aliases, more than 10,000 values or 100,000 list items.
 */
#ifndef CONFIG_YAML_H
#define CONFIG_YAML_H

#include <stddef.h>

#include "config/cfgnode.h"

/*
 * Returns the tree, to be freed by the caller. After an error it has what could be read,
 * so that its keys can be checked as well, or is NULL; p->nerror tells. `origin` is what
 * named the file, or NULL. The file name must end in .yaml or .yml or .json, or have no
 * extension.
 */
struct cfgnode *yaml_read_file(const char *path, const char *origin, struct problems *p);

/* `name` is used in place of a file name in messages. */
struct cfgnode *yaml_read_text(const char *text, size_t len, const char *name,
                               struct problems *p);

#endif
