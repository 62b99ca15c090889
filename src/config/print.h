/*
 * The configuration as YAML that loads again, with comments: `trainc config`, and
 * config.yaml in the output folder. Keys are in the order of the schema. What BASE named
 * is merged, so BASE is left empty; ${...} is kept as it was written.
 */
#ifndef CONFIG_PRINT_H
#define CONFIG_PRINT_H

#include "base/strbuf.h"
#include "config/config.h"
#include "config/names.h"

enum {
    CONFIG_PRINT_DIFF = 1,  /* only keys that differ from their default */
    CONFIG_PRINT_HELP = 2,  /* what each key means, above it */
    CONFIG_PRINT_WHERE = 4, /* what set it, after it */
};

void config_print(struct strbuf *s, const struct config *cfg, int flags);
/* The same where names_of knows more choices to tell of than the schema has. */
void config_print_names(struct strbuf *s, const struct config *cfg, int flags,
                        names_of_key *names_of);

#endif
