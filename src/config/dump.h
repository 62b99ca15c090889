/*
 * Values as YAML. What value_add_yaml writes reads back as the same value, texts like
 * '5', '1e-3', 'None' and "'x'" included, into a key of the same type.
 */
#ifndef CONFIG_DUMP_H
#define CONFIG_DUMP_H

#include "config/value.h"

/* One line of YAML in UTF-8: [1, 2], 1.0e-08, 'yes', None as null. */
void value_add_yaml(struct strbuf *s, const struct value *v);

/* A text for after a #: what would end the line, or the file's being YAML, escaped. */
void yaml_add_comment(struct strbuf *s, const char *text);

#endif
