/*
 * Reads YAML in two steps: libyaml's events to items (yaml_items.c), and items to values
 * of a tree (yaml_values.c). Private to src/config.
 */
#ifndef CONFIG_YAML_ITEMS_H
#define CONFIG_YAML_ITEMS_H

#include <yaml.h>

#include "base/arena.h"
#include "base/strmap.h"
#include "config/cfgnode.h"

enum { YAML_DEPTH_MAX = 100 };

/* A node of the document. Aliases share nodes, so the document is a graph. */
struct yaml_item {
    enum { ITEM_SCALAR, ITEM_LIST, ITEM_MAP } kind;
    int line, col; /* from 1 */
    const char *text, *tag;
    bool quoted, open;      /* open: its end has not been read yet */
    struct yaml_item **sub; /* of a map: key, value, key, value, ... */
    int nsub, capsub;
};

struct yaml_reader {
    yaml_parser_t parser;
    const char *name;
    const char *text; /* the whole file */
    size_t len;
    struct arena mem;
    struct strmap anchors;
    struct problems *p;
    int nvalues, nitems; /* nvalues: values, after expanding aliases; nitems: scalars in
                          * lists, counted separately */
};

/* Returns "file:line:col", which the reader owns. */
const char *yaml_location(struct yaml_reader *r, int line, int col);
/* Reports an error at the item's place. */
__attribute__((format(printf, 3, 4))) void
yaml_fail(struct yaml_reader *r, const struct yaml_item *item, const char *fmt, ...);

/* Sets *top to the top item of the only document, or to NULL if the file is empty.
 * Returns false if it reported an error. */
bool yaml_compose(struct yaml_reader *r, struct yaml_item **top);

/*
 * Adds the keys of a mapping to n. Reports all errors, not only the first. Of several
 * merge keys the last wins, within a merge key's list the first mapping, as in PyYAML.
 */
bool yaml_fill(struct yaml_reader *r, struct cfgnode *n, const struct yaml_item *map,
               int depth);

#endif
