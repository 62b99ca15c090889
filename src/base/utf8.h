/* Texts in UTF-8, as JSON and YAML files want them (RFC 3629). */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `s`, 0 if it is none (overlong, surrogate, torn). */
size_t utf8_len(const unsigned char *s);
/* The character at `s`, which has utf8_len(s) bytes. */
uint32_t utf8_char(const unsigned char *s, size_t len);
bool utf8_valid(const char *text);

#endif
