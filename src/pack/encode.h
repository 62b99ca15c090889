/*
 * A sample of a data set as it goes into a container: as it is, encoded anew, or decoded.
 */
#ifndef PACK_ENCODE_H
#define PACK_ENCODE_H

#include "dataset/dataset.h"
#include "image/transform.h"
#include "pack/format.h"

enum { PACK_QUALITY = 90 }; /* of JPEGs that are encoded anew, if none is asked for */

struct pack_encoding {
    int size;    /* pixels of the shorter side, at most; 0: as it is */
    int quality; /* JPEGs of this quality; 0: of what is lossy JPEGs of PACK_QUALITY, of all
                  * else PNGs */
    bool decode; /* PPM and PGM: lossless, not compressed */
    enum resize_filter filter;
    struct image_limits limits;
};

/* The buffers of one thread, reused from sample to sample. */
struct pack_encoder {
    struct transformer transformer;
    struct label_reader label;
};

void pack_encoder_init(struct pack_encoder *e, const struct image_limits *limits);
void pack_encoder_release(struct pack_encoder *e);

/* A sample and the bytes that it points to. */
struct pack_item {
    struct pack_sample sample;
    struct dataset_bytes image, label_map;
    char *fault;  /* why it cannot be read; NULL: it can */
    bool machine; /* and that is no fault of the file */
};

void pack_item_release(struct pack_item *item);

/* Fills item for sample i. */
void pack_encode(struct pack_encoder *e, const struct pack_encoding *how,
                 const struct dataset *d, int64_t i, struct pack_item *item);

#endif
