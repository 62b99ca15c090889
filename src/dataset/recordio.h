/*
 * DATA.DATASET recordio: MXNet's image records (dmlc-core's recordio.h, MXNet's
 * image_recordio.h) in SPLIT.rec, with an optional SPLIT.idx that has "key<tab>offset" of
 * each record. Integers and floats are little-endian.
 *
 * A part of a record consists of RECORD_MAGIC, a word with its kind (upper three bits)
 * and length, the data, and zero padding to a multiple of 4. If the data contain the
 * magic at a multiple of 4, the record is split there, without the magic, into a first,
 * middle, and last part.
 *
 * An image record begins with struct record_head. With flag > 0, `flag` floats follow,
 * the first of which replaces `label`. Then comes the image file.
 *
 * Label maps are the records of SPLIT.labels.rec, in the same order.
 */
#ifndef DATASET_RECORDIO_H
#define DATASET_RECORDIO_H

#include <stdint.h>

#define RECORD_MAGIC 0xced7230au

enum record_kind { RECORD_WHOLE, RECORD_FIRST, RECORD_MIDDLE, RECORD_LAST };

enum { RECORD_LENGTH_BITS = 29 };

struct record_head {
    uint32_t flag;
    float label;
    uint64_t id, id2;
};

#endif
