/*
 * Writes values as YAML. value_add_yaml's output reads back as the same value into a key
 * of the same type, including texts like '5', '1e-3', 'None', and "'x'".
 */
#ifndef CONFIG_DUMP_H
#define CONFIG_DUMP_H

#include "config/value.h"

/* Appends one line of YAML in UTF-8: [1, 2], 1.0e-08, 'yes', and null for None. */
void value_add_yaml(struct strbuf *s, const struct value *v);

/* Appends the text of a comment; escapes characters that end a line or are not valid in
 * YAML. */
void yaml_add_comment(struct strbuf *s, const char *text);

#endif
