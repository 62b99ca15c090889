/* UTF-8 text for JSON and YAML files (RFC 3629). */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the bytes of the character at `s`, or 0 if it is invalid (overlong, surrogate,
 * incomplete). */
size_t utf8_len(const unsigned char *s);
/* Returns the character at `s`, which has utf8_len(s) bytes. */
uint32_t utf8_char(const unsigned char *s, size_t len);
bool utf8_valid(const char *text);

/*
 * True if a document or terminal must not receive the character unchanged: a control
 * character (C0, DEL, C1), one that changes the direction or ends the line (U+061C,
 * U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069), or a byte order mark. Each format
 * replaces or escapes it.
 */
bool utf8_unsafe(uint32_t c);

/*
 * Makes `text` safe for a terminal, in place: each unsafe character and each invalid byte
 * becomes one '?'.
 */
void utf8_clean(char *text);

#endif
