/*
 * Output of verbs on stdout. Names of files, classes, layers, and tensors are foreign
 * text: every %s is made safe for a terminal (utf8_clean), so that no name can add a
 * line, move the cursor, or change the text direction. The format itself, with its
 * newlines, is printed unchanged.
 *
 * printf, puts, and similar functions on stdout are forbidden in src/cmd
 * (scripts/includes.sh).
 */
#ifndef BASE_SAY_H
#define BASE_SAY_H

#include <stdarg.h>

#include "base/strbuf.h"

/* Like printf; returns the bytes written. Supports C's conversions without %n and %ls. */
__attribute__((format(printf, 1, 2))) int say(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) int say_v(const char *fmt, va_list ap);

/* Same, appended to `out`. */
__attribute__((format(printf, 2, 0))) void strbuf_say_v(struct strbuf *out,
                                                        const char *fmt, va_list ap);

/* Prints our own text unchanged; it may have several lines, such as a table or a document
 * that escapes names itself (JSON, YAML, CSV). */
void say_text(const char *text);

#endif
