/*
 * A CfgNode: an ordered tree of keys, as yacs has it, with typed leaves.
 *
 *   struct cfgnode *cfg = cfgnode_new(), *sub = cfgnode_add(cfg, "TRAIN");
 *   struct value v = value_int(300);
 *   cfgnode_set(sub, "EPOCHS", &v, NULL, &problems);
 *   cfgnode_merge_file(cfg, "my.yaml", &problems);
 *   cfgnode_free(cfg);
 *
 * The type of a leaf is that of its first value and stays when the value becomes None.
 * A root owns the memory of its tree; a value that is replaced is freed with the root.
 * Every node of a tree may be given to the functions below, but only the root to
 * cfgnode_free.
 *
 * Where we differ from yacs on purpose: a merge is all or nothing, and reports every
 * mistake; a frozen node refuses every change, merges and clear included; new_allowed
 * counts for lists too; deprecated and renamed keys are looked up by their full name
 * before the tree is walked, in files and lists alike. Values are read by the type of
 * their key (config/coerce.h).
 */
#ifndef CONFIG_CFGNODE_H
#define CONFIG_CFGNODE_H

#include <stdbool.h>

#include "config/coerce.h"
#include "config/problems.h"
#include "config/value.h"

struct cfgnode_entry {
    const char *key;
    struct cfgnode *node; /* a subtree; NULL: a leaf */
    const char *where;    /* what set it: "a.yaml:3:5"; NULL: nobody since it was made */
    struct value value;
    struct decl decl;  /* what the leaf may hold, also while it is None */
    const char *flags; /* "-b, --batch-size": names that may be meant for it; or NULL */
    bool pending;      /* holds ${...}: a text that has not been coerced yet */
    bool bad;          /* what was given for it last was a mistake */
};

struct cfgnode_note { /* about a key that is deprecated, or renamed to `to` */
    const char *key, *to, *message;
    bool forward; /* renamed: set the new key and warn, instead of failing */
};

struct cfgnode {
    struct cfgnode_entry *entry;
    int n, cap;
    bool frozen, new_allowed;
    bool interpolate;          /* at the root: texts with ${ are left pending */
    struct cfgnode_note *note; /* consulted where a merge starts, full names */
    int nnote, capnote;
    struct arena *mem, own; /* of the tree; own is the root's */
};

struct cfgnode *cfgnode_new(void);
void cfgnode_free(struct cfgnode *root);                /* NULL is fine */
struct cfgnode *cfgnode_clone(const struct cfgnode *n); /* a root; flags and notes too */

/* An empty section below `n`, or the one that is there. Not for frozen nodes. */
struct cfgnode *cfgnode_add(struct cfgnode *n, const char *key);

/* A key that is not there, as another tree has it: where from, type and all below. */
void cfgnode_add_copy(struct cfgnode *n, const struct cfgnode_entry *e);

/* By full name: "TRAIN.EPOCHS". NULL: not there. */
struct cfgnode_entry *cfgnode_find(const struct cfgnode *n, const char *path);
struct cfgnode_entry *cfgnode_entry(const struct cfgnode *n,
                                    const char *key); /* one level */

/*
 * cfg.KEY = v: no look at the old type, which the leaf takes over if it is new. `where`
 * may be NULL. false: frozen, or v is no leaf's value.
 */
bool cfgnode_set(struct cfgnode *n, const char *key, const struct value *v,
                 const char *where, struct problems *p);
bool cfgnode_remove(struct cfgnode *n, const char *key, struct problems *p);
bool cfgnode_clear(struct cfgnode *n,
                   struct problems *p); /* the keys; flags and notes stay */

void cfgnode_freeze(struct cfgnode *n);
void cfgnode_defrost(struct cfgnode *n);
void cfgnode_set_new_allowed(struct cfgnode *n, bool allowed);

/* false: registered already. `message` may be NULL. */
bool cfgnode_deprecate(struct cfgnode *n, const char *key, const char *message);
bool cfgnode_rename(struct cfgnode *n, const char *old, const char *new_key,
                    const char *message);
const struct cfgnode_note *cfgnode_note_find(const struct cfgnode *n, const char *key);

/* What merge_from_other_cfg, _list (key, value, key, value, ...) and _file do. */
bool cfgnode_merge(struct cfgnode *into, const struct cfgnode *from, struct problems *p);
bool cfgnode_merge_list(struct cfgnode *into, const struct value *item, int n,
                        struct problems *p);
bool cfgnode_merge_file(struct cfgnode *into, const char *path, struct problems *p);

/*
 * For callers that give up on any mistake: what can be merged is merged, and all that
 * cannot is reported. A tree; one pair of a list, with where it came from; a file after
 * the files that its BASE (or _BASE_) names, from its own folder on, or from the present
 * one where the file is a pipe: /dev/stdin, /dev/fd/63.
 */
void cfgnode_merge_some(struct cfgnode *into, const struct cfgnode *from,
                        struct problems *p);
void cfgnode_merge_pair(struct cfgnode *into, const char *key, const struct value *v,
                        const char *where, struct problems *p);
void cfgnode_merge_chain(struct cfgnode *into, const char *path, const char *where,
                         struct problems *p);

bool cfgnode_equal(const struct cfgnode *a,
                   const struct cfgnode *b); /* keys and values */

#endif
