/* Classifies a single word of a command line, regardless of its context. */
#ifndef CONFIG_ARGWORD_H
#define CONFIG_ARGWORD_H

#include <stdbool.h>

bool argword_is_number(const char *text);     /* -1, -.5, -1e-3, -inf: start like flags */
bool argword_starts_number(const char *text); /* also -2] or -2, in a list */

/* KEY=VALUE: the text before = looks like a key. */
bool argword_is_pair(const char *text);
/* The same outside --opts, where file names may contain =, so keys must begin with a
 * capital. */
bool argword_is_bare_pair(const char *text);

/* True if a bracket at the start, or a quote within it, is not closed: [1, or ['a], or
 * ([2]. */
bool argword_is_open(const char *text);

#endif
