/*
 * The configuration of a run, typed: what every other module reads. Each has taken the
 * one path of config/load.c:
 *
 *   tree = cfgnode_clone(config_defaults());             defaults.c, of schema.c's rows
 *   cfgnode_merge(tree, yaml_read_text(line->saved, ...), p);   of a checkpoint, if any
 *   cfgnode_merge_file(tree, "a.yaml", "--cfg", p);      merge_file.c, yaml.c; each --cfg
 *   cfgnode_merge_list(tree, line->opt, line->nopt, p);  merge.c; --opts
 *   cfgnode_merge_list(tree, flag, 1, p);                each flag: the last that counts
 *   cfgnode_interpolate(tree, p);                        interpolate.c; ${KEY}
 *   config_check(tree, p);                               check.c; each key by its row
 *   config_settle(tree, p);                              settle.c; one thing said twice
 *   cfgnode_freeze(tree);
 *   config_bind(cfg, tree);                              bind.c; the fields
 *   config_check_rules(cfg, p);                          rules.c, unread.c; keys together
 *
 * A field of struct config (config/sections.h) is spelled as its key in lower case:
 * TRAIN.BASE_LR is cfg->train.base_lr. Types, ranges, defaults and help are in the one
 * table of config/schema.c; a new key is a row there and a field.
 *
 * Integers are int64_t, numbers double, texts const char * (never NULL), a key with
 * choices an int that holds one of the enum values of config/choices.h. Texts and lists
 * live as long as cfg->tree; a test may point a field at memory of its own, of which the
 * tree then knows nothing. Values are the input: nothing here is scaled by batch size or
 * resolved to a path.
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
 * All mistakes are in `p`. If there are some (false), *cfg has the defaults in their
 * place: good for more checks with config_blame(), and not for a run. Nothing but the
 * configuration files is read.
 */
bool config_load(struct config *cfg, const struct cmdline *line, struct problems *p);
void config_release(struct config *cfg);

/* The fields from a checked tree, which is the configuration's from then on. */
void config_bind(struct config *cfg, struct cfgnode *tree);

/* One key of a configuration, from text. Dies if the key is unknown or the value not
 * allowed. */
void config_set(struct config *cfg, const char *key, const char *text);

/* The same on behalf of `where`; config_preset leaves a key that something has set. */
void config_set_for(struct config *cfg, const char *key, const char *text,
                    const char *where);
void config_preset(struct config *cfg, const char *key, const char *text,
                   const char *where);

/* By the name of a key, "MODEL.SWIN.DEPTHS": its value, as the tree has it; what set it:
 * "configs/a.yaml:3:5", "--opts #2", "--lr"; NULL: the default. */
const struct value *config_get(const struct config *cfg, const char *key);
const char *config_where(const struct config *cfg, const char *key);
#define CONFIG_JOB_WHERE "job: " /* begins it for what session/job.h has set */
/* True if a user has set the key. */
bool config_is_given(const struct config *cfg, const char *key);
/* Has the key its default value, whoever set it? So it is in a saved config.yaml. */
bool config_is_default(const struct config *cfg, const char *key);

/* Was `key` set by a later source than `other`, a file, --opts, the flags? Nobody is the
 * earliest; false within one source. */
bool config_is_later(const struct config *cfg, const char *key, const char *other);

/*
 * Reports a mistake that `keys` make together, KEYS("TRAIN.A", "TRAIN.B"), with the place
 * of the first of them that was set. Says nothing if one of them was reported already, or
 * in doubt if one of them was not set, so that each mistake is told once.
 */
#define KEYS(...) ((const char *const[]){__VA_ARGS__, NULL})
__attribute__((format(printf, 4, 5))) void config_blame(const struct config *cfg,
                                                        struct problems *p,
                                                        const char *const *keys,
                                                        const char *fmt, ...);

/* The same where a run cannot start: usage() with the place of the first key that was
 * set. */
__attribute__((format(printf, 3, 4))) _Noreturn void
config_refuse(const struct config *cfg, const char *const *keys, const char *fmt, ...);

/*
 * AMP_ENABLE and AMP_OPT_LEVEL say the same. Where they contradict each other, the one
 * that a later source has set (a file, --opts, the flags) counts, as in Swin, and the
 * other follows; an empty level leaves it to AMP_ENABLE. Within one source they stay as
 * they are, for config_check_rules().
 */
void config_settle(struct cfgnode *tree, struct problems *p);

/*
 * Rules between keys, once each is good by itself: AMP_ENABLE against AMP_OPT_LEVEL, the
 * milestones and the warm-up, ...
 */
void config_check_rules(const struct config *cfg, struct problems *p);

/* Warns of keys that were set and that others keep from being read; part of the rules. */
void config_check_unread(const struct config *cfg, struct problems *p);
/* "KEY has no effect: WHY", where somebody has set it to another value than
 * its default. */
__attribute__((format(printf, 4, 5))) void config_warn_unread(const struct config *cfg,
                                                              struct problems *p,
                                                              const char *key,
                                                              const char *why, ...);

/*
 * AMP_ENABLE and AMP_OPT_LEVEL as one level: 0 to 3, Apex's O0 to O3. An empty level is
 * O1 when AMP is enabled and O0 when not.
 */
int config_amp_level(const struct config *cfg);

/* The input's sides in pixels: DATA.IMG_HEIGHT and IMG_WIDTH, or DATA.IMG_SIZE. */
int config_height(const struct config *cfg);
int config_width(const struct config *cfg);

#endif
