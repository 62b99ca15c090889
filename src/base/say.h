/*
 * What verbs print on stdout. Names of files, classes, layers and tensors are foreign text:
 * whatever %s brings is made safe for a terminal (utf8_clean), so that no name can add a
 * line, move the cursor, or change the direction of what follows. The format itself, with
 * its newlines, is printed as it is.
 *
 * printf, puts and the like on stdout are not used in src/cmd (scripts/includes.sh).
 */
#ifndef BASE_SAY_H
#define BASE_SAY_H

#include <stdarg.h>

#include "base/strbuf.h"

/* As printf, with the bytes written as the result; the conversions are those of C without %n and %ls. */
__attribute__((format(printf, 1, 2))) int say(const char *fmt, ...);
__attribute__((format(printf, 1, 0))) int say_v(const char *fmt, va_list ap);

/* The same, appended. */
__attribute__((format(printf, 2, 0))) void strbuf_say_v(struct strbuf *out,
                                                        const char *fmt, va_list ap);

/* Text of ours that may have lines, such as a table or a document that escapes names
 * itself (JSON, YAML, CSV), as it is. */
void say_text(const char *text);

#endif
