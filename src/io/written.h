/*
 * Recognizes files written by trainc, which are the only ones that an output path may
 * replace. Each format has a mark: JSON begins with the key "trainc", images of
 * paint_write have a text chunk, safetensors begin with trainc's checksum, .npy headers
 * end with a comment, ONNX models begin with their producer, tables of predict begin with
 * the columns image, class1, or image, labels, class1, or image, predicted_NAME, those of
 * check with image, finding, and pages name their generator.
 */
#ifndef IO_WRITTEN_H
#define IO_WRITTEN_H

#include <stdbool.h>

#include "io/json.h"

enum written {
    WRITTEN_JSON,
    WRITTEN_IMAGE,
    WRITTEN_WEIGHTS,
    WRITTEN_ARRAYS,
    WRITTEN_ONNX,
    WRITTEN_TABLE,
    WRITTEN_PAGE
};

/* Returns NULL if `path` may be written: it is "-", does not exist, is empty, is not a
 * regular file (a pipe), or is a file of this kind that trainc wrote. Otherwise returns
 * the reason. */
const char *written_refuse(const char *path, enum written kind);

/* True if the file has the mark of this kind. */
bool written_is(const char *path, enum written kind);

/* Starts a file as json_begin_object does, with the mark. */
void written_begin(struct json_writer *w);

/* Text chunk of WRITTEN_IMAGE: keyword (PNG specification, 11.3.4.2) and text. */
#define WRITTEN_KEYWORD "Software"
#define WRITTEN_TEXT    "trainc"

#endif
