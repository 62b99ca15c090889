/*
 * DATA.DATASET recordio: MXNet's image records (dmlc-core's recordio.h, MXNet's
 * image_recordio.h), SPLIT.rec, and SPLIT.idx with "key<tab>offset" of each record if it
 * is there. Integers and floats are little-endian.
 *
 * A part of a record is RECORD_MAGIC, a word whose upper three bits are its kind and the
 * others its length, the bytes, and zeros up to a multiple of 4. A record that holds the
 * magic on a multiple of 4 is cut there into a first, middle and last part, without it.
 *
 * A record of an image begins with struct record_head; with flag > 0 so many floats
 * follow, of which the first is the label in place of `label`. Then comes the file.
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
