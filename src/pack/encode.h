/*
 * A sample of a data set as it is stored in a container: unchanged, re-encoded, or
 * decoded.
 */
#ifndef PACK_ENCODE_H
#define PACK_ENCODE_H

#include "dataset/dataset.h"
#include "image/transformer.h"
#include "pack/format.h"

enum { PACK_QUALITY = 90 }; /* default quality of re-encoded JPEGs */

struct pack_encoding {
    int size;    /* maximum shorter side in pixels; 0: unlimited */
    int quality; /* encodes JPEGs of this quality; 0: lossy files become JPEGs of
                  * PACK_QUALITY, others PNGs */
    bool decode; /* PPM and PGM: lossless, uncompressed */
    enum resize_filter filter;
    struct image_limits limits;
};

/* Buffers of one thread, reused for all samples. */
struct pack_encoder {
    struct transformer transformer;
    struct label_reader label;
};

void pack_encoder_init(struct pack_encoder *e, const struct image_limits *limits);
void pack_encoder_release(struct pack_encoder *e);

/* A sample and the bytes it points to. */
struct pack_item {
    struct pack_sample sample;
    struct dataset_bytes image, label_map;
    char *fault;  /* why it cannot be read, or NULL */
    bool machine; /* the machine failed, not the file */
};

void pack_item_release(struct pack_item *item);

/* Fills item with sample i. */
void pack_encode(struct pack_encoder *e, const struct pack_encoding *how,
                 const struct dataset *d, int64_t i, struct pack_item *item);

#endif
