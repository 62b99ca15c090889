/*
 * DATA.DATASET decoded: uncompressed pixels, for data sets that are read many times. The
 * file is mapped into memory, so processes share it and images are not copied.
 *
 * Layout, in this order, integers little-endian:
 *   struct decoded_head
 *   images as PPM (P6), label maps as PGM (P5), each aligned to 64 bytes
 *   head.n x struct decoded_row
 *
 * Checksums are XXH3 (64 bits) of an image, of a label map, and (head.sum) of the rows.
 */
#ifndef DATASET_DECODED_H
#define DATASET_DECODED_H

#include <stdint.h>

#define DECODED_MAGIC "trncdec1"

struct decoded_head {
    char magic[8];
    uint64_t n, rows, sum; /* rows: their offset */
};

struct decoded_row {
    struct decoded_part {
        uint64_t offset, len, sum; /* len 0: absent */
    } image, label_map;
    int64_t label; /* -1: unlabeled */
};

enum { DECODED_ALIGN = 64 };

#endif
