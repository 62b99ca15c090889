/*
 * From a command line to a checked configuration. Sources, each beating the one before:
 * defaults, the files that BASE names, --cfg files from left to right, --opts, flags.
 *
 *   struct problems p = {0};
 *   struct config cfg;
 *   bool ok = config_load(&cfg, &line, &p);
 *   problems_print(&p);
 *   if (!ok) exit(EXIT_USAGE);
 *
 * Texts may hold ${KEY}, the value of another key, and ${env:NAME} or
 * ${env:NAME,default}. Nothing but the configuration files is read.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include <stdbool.h>

#include "config/cfgnode.h"
#include "config/cmdline.h"
#include "config/config.h"
#include "config/schema.h"

/*
 * All mistakes are in `p`. If there are some (false), *cfg has the defaults in their
 * place: good for more checks with config_blame(), and not for a run.
 */
bool config_load(struct config *cfg, const struct cmdline *line, struct problems *p);

/* The steps of config_load, for any table. A tree with a typed leaf for each row: */
struct cfgnode *schema_tree(const struct schema *table);

void config_merge(struct cfgnode *tree, const struct cmdline *line, struct problems *p);

/* Replaces ${...}; texts that had one and were good are coerced to their key's type. */
void config_interpolate(struct cfgnode *tree, struct problems *p);

/* Choices, ranges, None, and the notes of a row (no effect, unsupported, deprecated). */
void config_check(struct cfgnode *tree, const struct schema *table, struct problems *p);

#endif
