/*
 * A CfgNode: an ordered tree of keys, as yacs has it, with typed leaves. What a program
 * knows of keys is one tree (config_defaults()); a configuration is a clone of it into
 * which files and pairs are merged, in the order in which they win:
 *
 *   struct cfgnode *cfg = cfgnode_clone(config_defaults());
 *   cfgnode_merge_file(cfg, "my.yaml", NULL, &problems);    the files of its BASE first
 *   cfgnode_merge_list(cfg, pairs, n, &problems);           TRAIN.EPOCHS 300
 *   cfgnode_interpolate(cfg, &problems);                    ${KEY}
 *   cfgnode_freeze(cfg);
 *   cfgnode_find(cfg, "TRAIN.EPOCHS")->value.i
 *   cfgnode_free(cfg);
 *
 * A merge takes all that it can and reports every mistake of the rest, so that a user
 * sees all of them at once: where p->nerror is not zero, the tree is no configuration.
 * Values are read by the declared type of their key (config/coerce.h). A tree that was
 * read from a file has values and no types: it can be merged from, not into.
 *
 * A root owns the memory of its tree; a value that is replaced is freed with the root.
 */
#ifndef CONFIG_CFGNODE_H
#define CONFIG_CFGNODE_H

#include <stdbool.h>

#include "config/coerce.h"
#include "config/problems.h"
#include "config/value.h"

struct cfgnode_entry {
    const char *key;
    const char *name;     /* in full, "TRAIN.EPOCHS"; NULL in a tree without types */
    struct cfgnode *node; /* a subtree; NULL: a leaf */
    int order;            /* of the merge that set it; 0: nobody */
    const char *where;    /* what set it: "a.yaml:3:5"; NULL: nobody since it was made */
    const char *over; /* what had set it to another value before that; NULL: nothing */
    struct value value;
    struct decl decl;  /* what the leaf may hold, also while it is None */
    const char *flags; /* "-b, --batch-size": names that may be meant for it; or NULL */
    bool pending;      /* holds ${...}: a text that has not been coerced yet */
    bool bad;          /* what was given for it last was a mistake */
};

struct cfgnode {
    struct cfgnode_entry *entry;
    int n, cap;
    int merged; /* of a root: how many leaves merges have set */
    bool frozen;
    struct arena *mem, own; /* of the tree; own is the root's */
};

/* One pair of a list, and what to call it: "TRAIN.EPOCHS", "300", "--opts #2". */
struct cfgnode_pair {
    const char *name, *text, *where;
};

struct cfgnode *cfgnode_new(void);
void cfgnode_free(struct cfgnode *root);                /* NULL is fine */
struct cfgnode *cfgnode_clone(const struct cfgnode *n); /* a root, and not frozen */

/* An empty section below `n`, or the one that is there. */
struct cfgnode *cfgnode_add(struct cfgnode *n, const char *key);

/* A leaf of `n`, new or as it was but for its value; `where` may be NULL. */
struct cfgnode_entry *cfgnode_set(struct cfgnode *n, const char *key,
                                  const struct value *v, const char *where);

/* A key that is not there, as another tree has it: where from, type and all below. */
void cfgnode_add_copy(struct cfgnode *n, const struct cfgnode_entry *e);

/* By full name: "TRAIN.EPOCHS". NULL: not there. */
struct cfgnode_entry *cfgnode_find(const struct cfgnode *n, const char *path);
struct cfgnode_entry *cfgnode_entry(const struct cfgnode *n,
                                    const char *key); /* one level */

/* For "did you mean": the one key, or section if those count, that was meant by a name
 * that is not there; NULL. */
const char *cfgnode_near(const struct cfgnode *root, const char *key, bool sections);

/* merge_from_other_cfg, merge_from_list. BASE is a mistake in a list. */
void cfgnode_merge(struct cfgnode *into, const struct cfgnode *from, struct problems *p);
void cfgnode_merge_list(struct cfgnode *into, const struct cfgnode_pair *pair, int n,
                        struct problems *p);

/*
 * merge_from_file, after the files that its BASE (or _BASE_) names, from its own folder
 * on, or from the present one where the file is a pipe: /dev/stdin, /dev/fd/63. `where`
 * says who named the file.
 */
void cfgnode_merge_file(struct cfgnode *into, const char *path, const char *where,
                        struct problems *p);

/* Replaces ${KEY}, ${env:NAME} and ${env:NAME,default} in texts and in the items of
 * lists; $${ is ${ itself. */
void cfgnode_interpolate(struct cfgnode *n, struct problems *p);
/* The same of the one text of a key `name` that is read before there is a tree: only env
 * works. False: a mistake was reported. */
bool cfgnode_expand(const char *text, const char *name, const char *where,
                    struct problems *p, struct strbuf *out);

/* From then on every change is a mistake: in a merge the user's, else ours. */
void cfgnode_freeze(struct cfgnode *n);
void cfgnode_defrost(struct cfgnode *n);

#endif
