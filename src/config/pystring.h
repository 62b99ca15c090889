/* Parses Python string literals: 'x', "x", triple quotes, r and u prefixes, and adjacent
 * literals 'a' 'b'. */
#ifndef CONFIG_PYSTRING_H
#define CONFIG_PYSTRING_H

#include <stdbool.h>

#include "config/value.h"

/* True if the text starts with a quote, or one or two prefix letters and a quote. */
bool pystring_starts(const char *p);

/*
 * Parses a literal at *p and moves *p past it. Adjacent literals are joined, across
 * lines only if `in_brackets`. Bytes become VALUE_OTHER. Returns false if it is not a
 * valid literal (open string, bad escape, f-string, a NUL).
 */
bool pystring_parse(struct arena *a, const char **p, bool in_brackets, struct value *v);

#endif
