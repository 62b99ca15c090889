/* A configuration for tests: that of a command line without a word. */
#ifndef TESTS_CONFIG_INIT_H
#define TESTS_CONFIG_INIT_H

#include "config/config.h"

/* Every key at its default. The caller sets others with config_set, and releases it. */
void config_init(struct config *cfg);

#endif
