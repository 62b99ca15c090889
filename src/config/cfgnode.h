/*
 * A CfgNode: an ordered tree of keys, as in yacs, with typed leaves. config_defaults() is
 * the tree of all keys. A configuration is a clone of it, into which files and pairs are
 * merged in order of increasing priority:
 *
 *   struct cfgnode *cfg = cfgnode_clone(config_defaults());
 *   cfgnode_merge_file(cfg, "my.yaml", NULL, &problems);    the files in its BASE first
 *   cfgnode_merge_list(cfg, pairs, n, &problems);           TRAIN.EPOCHS 300
 *   cfgnode_interpolate(cfg, &problems);                    ${KEY}
 *   cfgnode_freeze(cfg);
 *   cfgnode_find(cfg, "TRAIN.EPOCHS")->value.i
 *   cfgnode_free(cfg);
 *
 * A merge applies everything that is valid and reports all errors, so that a user sees
 * them at once. If p->nerror is not zero, do not use the tree. Values are parsed
 * according to the declared type of their key (config/coerce.h). A tree read from a file
 * has values but no types: it can be the source of a merge, not its target.
 *
 * A root owns the memory of its tree; replaced values are freed with the root.
 */
#ifndef CONFIG_CFGNODE_H
#define CONFIG_CFGNODE_H

#include <stdbool.h>

#include "config/coerce.h"
#include "config/problems.h"
#include "config/value.h"

struct cfgnode_entry {
    const char *key;
    const char *name;     /* full name, "TRAIN.EPOCHS"; NULL in a tree without types */
    struct cfgnode *node; /* subtree; NULL for a leaf */
    int order;            /* number of the merge that set it; 0: unset */
    const char *origin;   /* what set it, "a.yaml:3:5"; NULL if it is the default */
    const char *replaced; /* origin of the value that this one replaced, or NULL */
    struct value value;
    struct decl decl;  /* declared type; also valid while the value is None */
    const char *flags; /* "-b, --batch-size": flags that users may mean by a misspelled
                        * key; or NULL */
    bool pending;      /* contains ${...}: a text that is not coerced yet */
    bool bad;          /* the last value given was invalid */
};

struct cfgnode {
    struct cfgnode_entry *entry;
    int n, cap;
    int merged; /* in a root: number of leaves set by merges */
    bool frozen;
    struct arena *mem, root_mem; /* mem: the tree's; root_mem: storage of a root */
};

/* A pair of a list and its origin: "TRAIN.EPOCHS", "300", "--opts #2". */
struct cfgnode_pair {
    const char *name, *text, *origin;
};

struct cfgnode *cfgnode_new(void);
void cfgnode_free(struct cfgnode *root);                /* accepts NULL */
struct cfgnode *cfgnode_clone(const struct cfgnode *n); /* a new root, not frozen */

/* Returns the section `key` of `n`, created if missing. */
struct cfgnode *cfgnode_add(struct cfgnode *n, const char *key);

/* Sets the value of a leaf of `n`, created if missing; `origin` may be NULL. */
struct cfgnode_entry *cfgnode_set(struct cfgnode *n, const char *key,
                                  const struct value *v, const char *origin);

/* Adds a copy of an entry of another tree, with its origin, type, and subtree. The key
 * must not exist yet. */
void cfgnode_add_copy(struct cfgnode *n, const struct cfgnode_entry *e);

/* Finds an entry by full name, "TRAIN.EPOCHS". Returns NULL if there is none. */
struct cfgnode_entry *cfgnode_find(const struct cfgnode *n, const char *path);
struct cfgnode_entry *cfgnode_entry(const struct cfgnode *n,
                                    const char *key); /* a single level */

/* For "did you mean": returns the key (or section, if `sections`) that an unknown name
 * most likely means, or NULL. */
const char *cfgnode_near(const struct cfgnode *root, const char *key, bool sections);

/* As merge_from_other_cfg and merge_from_list in yacs. BASE in a list is an error. */
void cfgnode_merge(struct cfgnode *dst, const struct cfgnode *src, struct problems *p);
void cfgnode_merge_list(struct cfgnode *dst, const struct cfgnode_pair *pair, int n,
                        struct problems *p);

/*
 * As merge_from_file in yacs: first merges the files in BASE (or _BASE_), whose paths are
 * relative to the file's folder or, if the file is a pipe (/dev/stdin, /dev/fd/63), to
 * the current folder. `origin` is what named the file.
 */
void cfgnode_merge_file(struct cfgnode *dst, const char *path, const char *origin,
                        struct problems *p);

/* Replaces ${KEY}, ${env:NAME}, and ${env:NAME,default} in texts and items of lists; $${
 * gives ${. */
void cfgnode_interpolate(struct cfgnode *n, struct problems *p);
/* The same for the text of the key `name`, read before there is a tree: only env works.
 * Returns false if it reported an error. */
bool cfgnode_expand(const char *text, const char *name, const char *origin,
                    struct problems *p, struct strbuf *out);

/* Later changes are errors: reported in merges, bugs elsewhere. */
void cfgnode_freeze(struct cfgnode *n);
void cfgnode_defrost(struct cfgnode *n);

#endif
