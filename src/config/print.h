/*
 * Prints the configuration as YAML that can be loaded again, with comments: `trainc
 * config`, and config.yaml in the output folder. Keys are in the order of the schema.
 * Files in BASE are already merged, so BASE is empty; ${...} is kept as written.
 */
#ifndef CONFIG_PRINT_H
#define CONFIG_PRINT_H

#include "base/strbuf.h"
#include "config/config.h"
#include "config/names.h"

enum {
    CONFIG_PRINT_DIFF = 1,   /* only keys that differ from their default */
    CONFIG_PRINT_HELP = 2,   /* the help of each key, above it */
    CONFIG_PRINT_ORIGIN = 4, /* the origin of each value, after it */
};

void config_print(struct strbuf *s, const struct config *cfg, int flags);
/* The same; names_of returns more choices than the schema has. */
void config_print_names(struct strbuf *s, const struct config *cfg, int flags,
                        names_of_key *names_of);

#endif
