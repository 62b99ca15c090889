/*
 * Which files trainc wrote itself: only those are replaced by what a user names as an
 * output. Each format carries a mark: JSON begins with the key "trainc", the images of
 * paint_write have a text chunk, safetensors begin with the checksum of our writer,
 * headers of .npy end with a comment, ONNX models name their producer first,
 * tables of predict begin with the columns image, class1, those of check with image,
 * finding, pages name their generator.
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

/* May `path` be written, as far as what lies there goes? NULL if there is nothing, an
 * empty file, something that is no file (a pipe), or a file of this kind that trainc
 * wrote; else why not. "-" is no path. */
const char *written_refuse(const char *path, enum written kind);

/* Is it a file with the mark of this kind? */
bool written_is(const char *path, enum written kind);

/* json_begin_object of a whole file, with the mark. */
void written_begin(struct json_writer *w);

/* The text chunk of WRITTEN_IMAGE: its keyword (PNG specification, 11.3.4.2) and text. */
#define WRITTEN_KEYWORD "Software"
#define WRITTEN_TEXT    "trainc"

#endif
