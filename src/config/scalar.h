/* Parses plain (unquoted) scalars of YAML 1.1 as PyYAML's SafeLoader does. */
#ifndef CONFIG_SCALAR_H
#define CONFIG_SCALAR_H

#include "config/value.h"

/*
 * Returns null, bool, int (also octal 010 and base 60), float (requires a dot, and a sign
 * in the exponent), or else str. Dates and times, a bare `=`, and integers beyond 64 bits
 * are VALUE_OTHER. The result keeps `text`.
 */
struct value scalar_resolve(struct arena *a, const char *text);

#endif
