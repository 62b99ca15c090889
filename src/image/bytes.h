/* Little-endian numbers in a file. Private to src/image. */
#ifndef IMAGE_BYTES_H
#define IMAGE_BYTES_H

#include <stdint.h>

static inline uint32_t le16(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t le32(const uint8_t *p)
{
    return le16(p) | le16(p + 2) << 16;
}

#endif
