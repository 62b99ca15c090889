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

/*
 * Whether no document or terminal gets the character as it is: a control character (C0,
 * DEL, C1), one that turns the direction or ends the line (U+061C, U+200E, U+200F, U+2028
 * to U+202E, U+2066 to U+2069), or a byte order mark. Each format replaces or escapes it.
 */
bool utf8_unsafe(uint32_t c);

/*
 * Makes `text` safe to show on a terminal, in place: each unsafe character and each byte
 * that is no UTF-8 becomes one '?'.
 */
void utf8_clean(char *text);

#endif
