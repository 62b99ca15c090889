#include "image/png_chunks.h"

#include <limits.h>
#include <string.h>

#include <libdeflate.h>

#include "base/alloc.h"

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool png_chunks_size(const uint8_t *d, size_t len, int *w, int *h)
{
    static const uint8_t start[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    int64_t side[2];

    if (len < 24 || memcmp(d, start, 16) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        side[i] = big_endian(d + 16 + 4 * i);
    if (side[0] < 1 || side[0] > INT_MAX || side[1] < 1 || side[1] > INT_MAX)
        return false;
    *w = (int)side[0];
    *h = (int)side[1];
    return true;
}

int png_chunks_check(const uint8_t *d, size_t len, struct strbuf *why)
{
    for (size_t at = 8, n;; at += 12 + n) {
        const uint8_t *chunk = d + at;

        if (len - at < 12 || big_endian(chunk) > len - at - 12) {
            strbuf_addstr(why, "the file is cut off");
            return -1;
        }
        n = big_endian(chunk);
        if (!(chunk[4] & 32) &&
            libdeflate_crc32(0, chunk + 4, n + 4) != big_endian(chunk + 8 + n)) {
            strbuf_addf(why, "damaged: a wrong checksum after byte %zu", at);
            return -1;
        }
        if (!memcmp(chunk + 4, "IEND", 4))
            return 0;
    }
}

uint8_t *png_chunks_fill(const uint8_t *d, size_t *len)
{
    enum { COLOURS = 3 * 256 };
    uint8_t *copy;

    for (size_t at = 8, n; memcmp(d + at + 4, "IEND", 4) != 0; at += 12 + n) {
        size_t end = at + 8 + (n = big_endian(d + at));

        if (memcmp(d + at + 4, "PLTE", 4) != 0)
            continue;
        if (n >= COLOURS || !n || n % 3)
            return NULL;
        copy = xcalloc(1, *len + COLOURS - n);
        memcpy(copy, d, end);
        copy[at + 2] = COLOURS >> 8;
        copy[at + 3] = COLOURS & 255;
        memcpy(copy + at + 8 + COLOURS, d + end, *len - end);
        *len += COLOURS - n;
        return copy;
    }
    return NULL;
}

const uint8_t *png_chunks_exif(const uint8_t *d, size_t size, size_t *len)
{
    for (size_t at = 8; at + 12 <= size;) {
        size_t n = big_endian(d + at);

        if (n > size - at - 12)
            return NULL;
        if (memcmp(d + at + 4, "eXIf", 4) == 0) {
            *len = n;
            return d + at + 8;
        }
        at += 12 + n;
    }
    return NULL;
}
