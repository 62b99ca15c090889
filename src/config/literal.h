/*
 * What a piece of text means where no type is declared, in Python: the literals that
 * ast.literal_eval of CPython 3.11 reads. (For YAML's plain scalars see
 * config/scalar.h.)
 */
#ifndef CONFIG_LITERAL_H
#define CONFIG_LITERAL_H

#include "config/value.h"

/*
 * 5, 0x10, 1e-3, True, None, 'x', [1, 2], (1, 2), 1,2. A text that is no literal is a
 * str with that text. Dicts, sets, bytes, complex numbers and integers beyond 64 bits
 * are literals that no key can hold: VALUE_OTHER. The result keeps `text`; texts in
 * quotes, those in lists included, are marked as quoted.
 */
struct value literal_parse(struct arena *a, const char *text);

#endif
