/*
 * The configuration of a run as a typed struct, which all other modules read.
 * config/load.c creates every configuration in these steps:
 *
 *   tree = cfgnode_clone(config_defaults());             defaults.c, from the schema
 *   cfgnode_merge(tree, yaml_read_text(line->saved, ...), p);   from a checkpoint, if any
 *   cfgnode_merge_file(tree, "a.yaml", "--cfg", p);      merge_file.c, yaml.c; each --cfg
 *   cfgnode_merge_list(tree, line->opt, line->nopt, p);  merge.c; --opts
 *   cfgnode_merge_list(tree, flag, 1, p);                each flag: the last one counts
 *   cfgnode_interpolate(tree, p);                        interpolate.c; ${KEY}
 *   config_check(tree, p);                               check.c; each key by itself
 *   config_settle(tree, p);                              settle.c; redundant keys
 *   cfgnode_freeze(tree);
 *   config_bind(cfg, tree);                              bind.c; fills the fields
 *   config_check_rules(cfg, p);                          rules.c, unread.c; across keys
 *
 * A field of struct config (config/sections.h) is its key in lower case: TRAIN.BASE_LR is
 * cfg->train.base_lr. Types, ranges, defaults, and help are in the table of
 * config/schema.c; a new key is a row there and a field.
 *
 * Integers are int64_t, numbers double, and texts const char * (never NULL). A key with
 * choices is an int with a value of an enum in config/choices.h. Texts and lists live as
 * long as cfg->tree. Tests may point a field at their own memory, which does not affect
 * the tree. Values are as given: not scaled by batch size, and paths are not resolved.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>

#include "config/choices.h"
#include "config/sections.h"

struct cmdline;
struct cfgnode;
struct problems;
struct value;

/*
 *   struct problems p = {0};
 *   struct config cfg;
 *   bool ok = config_load(&cfg, &line, &p);
 *   problems_print(&p);
 *   if (!ok) exit(EXIT_USAGE);
 *
 * Adds all errors to `p` and returns false if there are any. Then *cfg has defaults in
 * place of invalid values: it can be used for more checks with config_blame(), but not
 * for a run. Reads no files other than configurations.
 */
bool config_load(struct config *cfg, const struct cmdline *line, struct problems *p);
void config_release(struct config *cfg);

/* Fills the fields from a checked tree, and takes ownership of it. */
void config_bind(struct config *cfg, struct cfgnode *tree);

/* Sets one key from text. Dies if the key is unknown or the value invalid. */
void config_set(struct config *cfg, const char *key, const char *text);

/* The same with this origin. config_preset does nothing if the key is already set. */
void config_set_for(struct config *cfg, const char *key, const char *text,
                    const char *origin);
void config_preset(struct config *cfg, const char *key, const char *text,
                   const char *origin);

/* config_get returns the value of a key, "MODEL.SWIN.DEPTHS", in the tree. config_origin
 * returns its origin ("configs/a.yaml:3:5", "--opts #2", "--lr"), or NULL for the
 * default. */
const struct value *config_get(const struct config *cfg, const char *key);
const char *config_origin(const struct config *cfg, const char *key);
#define CONFIG_JOB_ORIGIN "job: " /* prefix of origins set by session/job.h */
/* True if a user has set the key. */
bool config_is_given(const struct config *cfg, const char *key);
/* True if the key has its default value, even if it was set explicitly, as in a saved
 * config.yaml. */
bool config_is_default(const struct config *cfg, const char *key);

/* True if `key` was set by a later source than `other`; sources are files, --opts, and
 * flags, and unset is the earliest. False within a source. */
bool config_is_later(const struct config *cfg, const char *key, const char *other);

/*
 * Reports an error that a combination of keys causes, KEYS("TRAIN.A", "TRAIN.B"), with
 * the origin of the first one that was set. Does nothing if one of them already has an
 * error or, with cfg->doubt, is unset, so that each error is reported once.
 */
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})
__attribute__((format(printf, 4, 5))) void config_blame(const struct config *cfg,
                                                        struct problems *p,
                                                        const char *const *keys,
                                                        const char *fmt, ...);

/* The same when a run cannot start: calls usage() with the origin of the first key that
 * was set. */
__attribute__((format(printf, 3, 4))) _Noreturn void
config_refuse(const struct config *cfg, const char *const *keys, const char *fmt, ...);

/*
 * AMP_ENABLE and AMP_OPT_LEVEL are redundant. If they contradict each other, the one from
 * the later source (a file, --opts, the flags) wins, as in Swin, and the other is
 * adapted; with an empty level AMP_ENABLE decides. A contradiction within a source is
 * left for config_check_rules().
 */
void config_settle(struct cfgnode *tree, struct problems *p);

/*
 * Checks rules across keys, once each key is valid: AMP_ENABLE against AMP_OPT_LEVEL,
 * milestones against warm-up, ...
 */
void config_check_rules(const struct config *cfg, struct problems *p);

/* Warns about keys that are set but not read because of other keys. Called by
 * config_check_rules(). */
void config_check_unread(const struct config *cfg, struct problems *p);
/* Warns "KEY has no effect: WHY" if the user has set the key to a value other than its
 * default. */
__attribute__((format(printf, 4, 5))) void config_warn_unread(const struct config *cfg,
                                                              struct problems *p,
                                                              const char *key,
                                                              const char *why, ...);

/*
 * Combines AMP_ENABLE and AMP_OPT_LEVEL into a level: 0 to 3, as Apex's O0 to O3. An
 * empty level is O1 if AMP is enabled, else O0.
 */
int config_amp_level(const struct config *cfg);

/* Size of the input in pixels: DATA.IMG_HEIGHT and IMG_WIDTH, or DATA.IMG_SIZE. */
int config_height(const struct config *cfg);
int config_width(const struct config *cfg);

#endif
