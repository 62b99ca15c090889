/* A test configuration: that of an empty command line. */
#ifndef TESTS_CONFIG_INIT_H
#define TESTS_CONFIG_INIT_H

#include "config/config.h"

/* Initializes every key to its default. The caller sets others with config_set, and
 * releases it. */
void config_init(struct config *cfg);

#endif
