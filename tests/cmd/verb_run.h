/*
 * A verb of the command line in the process of the test, as main() runs it.
 */
#ifndef TESTS_CMD_VERB_RUN_H
#define TESTS_CMD_VERB_RUN_H

#include "cmd/cmd.h"

/* On words that end with NULL; its output is dropped. Returns its exit code. */
int verb_run(const struct verb *v, const char *const *words);

#define RUN(verb, ...) verb_run((verb), (const char *const[]){__VA_ARGS__, NULL})

#endif
