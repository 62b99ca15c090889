/*
 * CRC-32C (Castagnoli polynomial 0x1EDC6F41, reflected; RFC 3720, section B.4), and its
 * masked form, which protects lengths and data in TensorBoard events and TFRecords:
 * rotated right by 15 plus a constant, so that CRCs over data with embedded CRCs stay
 * reliable.
 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *data, size_t len);

static inline uint32_t crc32c_masked(const void *data, size_t len)
{
    uint32_t crc = crc32c(data, len);

    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
