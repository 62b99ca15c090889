/*
 * The plain (unquoted) scalars of YAML 1.1, as PyYAML's SafeLoader resolves them.
 */
#ifndef CONFIG_SCALAR_H
#define CONFIG_SCALAR_H

#include "config/value.h"

/*
 * null, bool, int (also octal 010 and base 60), float (needs a dot, its exponent a
 * sign), else str. A date or time, the bare `=` and an integer beyond 64 bits are
 * VALUE_OTHER. The result keeps `text`.
 */
struct value scalar_resolve(struct arena *a, const char *text);

#endif
