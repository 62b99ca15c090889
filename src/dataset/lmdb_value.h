/*
 * What stands under a key of an LMDB whose keys are not those of lmdb_library.h: an image
 * (the key is its path), or a caffe.Datum with a class and an image, encoded or as pixels
 * [channel, y, x], of which three are blue, green and red.
 *
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

/* Of a datum also its class; -1: none. */
enum lmdb_form lmdb_value_form(const void *data, size_t len, int32_t *label);

/* The image of a datum, pixels as PPM or PGM. A failure of base/failure.h and a
 * reason. */
int lmdb_value_image(const void *data, size_t len, int64_t limit,
                     struct dataset_bytes *out, struct strbuf *why);

/* Why a value is of no form that is read. */
void lmdb_value_describe(const void *data, size_t len, struct strbuf *why);

#endif
