/*
 * Parses text without a declared type as Python: the literals that ast.literal_eval of
 * CPython 3.11 accepts. (See config/scalar.h for plain scalars of YAML.)
 */
#ifndef CONFIG_LITERAL_H
#define CONFIG_LITERAL_H

#include "config/value.h"

/*
 * Parses 5, 0x10, 1e-3, True, None, 'x', [1, 2], (1, 2), or 1,2. Any other text becomes a
 * str. Dicts, sets, bytes, complex numbers, and integers beyond 64 bits are literals that
 * no key can hold: VALUE_OTHER. The result keeps `text`; quoted texts, including those in
 * lists, are marked as quoted.
 */
struct value literal_parse(struct arena *a, const char *text);

#endif
