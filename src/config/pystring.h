/* Python string literals: 'x', "x", triple quotes, r and u prefixes, 'a' 'b' joined. */
#ifndef CONFIG_PYSTRING_H
#define CONFIG_PYSTRING_H

#include <stdbool.h>

#include "config/value.h"

/* A quote, or a prefix letter or two and a quote. */
bool pystring_starts(const char *p);

/*
 * Reads at *p and moves it past it. Adjacent literals join, also across lines if
 * `in_brackets`. Bytes become VALUE_OTHER. false: not a literal (open string, bad escape,
 * f-string, a NUL).
 */
bool pystring_parse(struct arena *a, const char **p, bool in_brackets, struct value *v);

#endif
