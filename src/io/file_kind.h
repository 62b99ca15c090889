/*
 * Identifies a file without readable weights by its first bytes, as file(1) does, for a
 * message that says what to do.
 *
 *   if (len > SAFETENSORS_HEADER_MAX && file_kind(&in, &what))
 *      return input_refuse(&in, why, "no weights: %s", what.buf);
 *
 * Formats: https://www.iana.org/assignments/media-types and the formats' own documents.
 */
#ifndef IO_FILE_KIND_H
#define IO_FILE_KIND_H

#include <stdbool.h>

#include "io/input.h"

/* Appends what the file is and, if known, what to do with it. Returns false if it is
 * unknown. */
bool file_kind(const struct input *in, struct strbuf *what);

#endif
