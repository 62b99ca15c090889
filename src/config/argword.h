/* What one word of a command line looks like, whatever stands around it. */
#ifndef CONFIG_ARGWORD_H
#define CONFIG_ARGWORD_H

#include <stdbool.h>

bool argword_is_number(const char *text);     /* -1, -.5, -1e-3, -inf start like flags */
bool argword_starts_number(const char *text); /* and -2] or -2, in a list */

/* KEY=VALUE: what is before = looks like a key. */
bool argword_is_pair(const char *text);
/* Outside --opts, where file names may hold a =, keys are told by their capital. */
bool argword_is_bare_pair(const char *text);

/* [1, or ['a], or ([2]: a bracket at the start, or a quote in it, does not end here. */
bool argword_is_open(const char *text);

#endif
