/*
 * Parses a value of an LMDB without the numbered keys of lmdb_library.h: an image (its
 * key is its path), or a caffe.Datum with a class and an image. The image is encoded, or
 * pixels [channel, y, x] in the order blue, green, red if there are three channels.
 * Private to src/dataset.
 */
#ifndef DATASET_LMDB_VALUE_H
#define DATASET_LMDB_VALUE_H

#include "dataset/dataset.h"

enum lmdb_form {
    LMDB_NUMBERED, /* the keys of lmdb_library.h */
    LMDB_IMAGE,
    LMDB_DATUM,
    LMDB_UNKNOWN
};

/* Returns the form of a value and, for a datum, sets *label to its class (-1: none). */
enum lmdb_form lmdb_value_form(const void *data, size_t len, int32_t *label);

/* Extracts the image of a datum; pixels become a PPM or PGM file. Returns a failure of
 * base/failure.h and a reason. */
int lmdb_value_image(const void *data, size_t len, int64_t limit,
                     struct dataset_bytes *out, struct strbuf *why);

/* Appends the reason why a value has no supported form. */
void lmdb_value_describe(const void *data, size_t len, struct strbuf *why);

#endif
