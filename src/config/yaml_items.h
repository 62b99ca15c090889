/*
 * The two steps of reading YAML: libyaml's events to items (yaml_items.c), and items to
 * the values of a tree (yaml_values.c). Private to src/config.
 */
#ifndef CONFIG_YAML_ITEMS_H
#define CONFIG_YAML_ITEMS_H

#include <yaml.h>

#include "base/arena.h"
#include "base/strmap.h"
#include "config/cfgnode.h"

enum { YAML_DEPTH_MAX = 100 };

/* What libyaml's events compose: shared where aliases are, so a graph. */
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
    int nvalues, nitems; /* aliases expanded; texts and numbers of lists apart */
};

/* "file:line:col", the reader's. */
const char *yaml_place(struct yaml_reader *r, int line, int col);
/* An error at the item's place. */
__attribute__((format(printf, 3, 4))) void
yaml_fail(struct yaml_reader *r, const struct yaml_item *at, const char *fmt, ...);

/* The one document's top item in *top, NULL if the file is empty. False: reported. */
bool yaml_compose(struct yaml_reader *r, struct yaml_item **top);

/*
 * The keys of a mapping into n. All mistakes are reported, not only the first. Of its
 * merge keys the last wins, of the mappings in the list of one the first, as in PyYAML.
 */
bool yaml_fill(struct yaml_reader *r, struct cfgnode *n, const struct yaml_item *map,
               int depth);

#endif
