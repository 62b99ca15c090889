/*
 * Runs a subcommand in the process of the test, as main() does.
 */
#ifndef TESTS_CMD_VERB_RUN_H
#define TESTS_CMD_VERB_RUN_H

#include "cmd/cmd.h"

/* `words` ends with NULL; output is discarded. Returns the exit code. */
int verb_run(const struct verb *v, const char *const *words);

#define RUN(verb, ...) verb_run((verb), (const char *const[]){__VA_ARGS__, NULL})

#endif
