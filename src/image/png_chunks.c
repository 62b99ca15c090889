#include "image/png_chunks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "base/alloc.h"
#include "image/exif.h"

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
    for (size_t pos = 8, n;; pos += 12 + n) {
        const uint8_t *chunk = d + pos;

        if (len - pos < 12 || big_endian(chunk) > len - pos - 12) {
            strbuf_addstr(why, "the file is cut off");
            return -1;
        }
        n = big_endian(chunk);
        if (!(chunk[4] & 32) &&
            libdeflate_crc32(0, chunk + 4, n + 4) != big_endian(chunk + 8 + n)) {
            strbuf_addf(why, "damaged: a wrong checksum after byte %zu", pos);
            return -1;
        }
        if (!memcmp(chunk + 4, "IEND", 4))
            return 0;
    }
}

uint8_t *png_chunks_fill(const uint8_t *d, size_t *len)
{
    enum { COLORS = 3 * 256 };
    uint8_t *copy;

    for (size_t pos = 8, n; memcmp(d + pos + 4, "IEND", 4) != 0; pos += 12 + n) {
        size_t end = pos + 8 + (n = big_endian(d + pos));

        if (memcmp(d + pos + 4, "PLTE", 4) != 0)
            continue;
        if (n >= COLORS || !n || n % 3)
            return NULL;
        copy = xcalloc(1, *len + COLORS - n);
        memcpy(copy, d, end);
        copy[pos + 2] = COLORS >> 8;
        copy[pos + 3] = COLORS & 255;
        memcpy(copy + pos + 8 + COLORS, d + end, *len - end);
        *len += COLORS - n;
        return copy;
    }
    return NULL;
}

/* Orientations found in a file, by source; 0: none. */
struct png_text {
    int exif, raw, xmp;
};

/* Reads the text of a keyword. */
static void text_plain(struct png_text *s, const char *keyword, const uint8_t *text,
                       size_t len)
{
    bool raw = !strcmp(keyword, "Raw profile type exif") ||
               !strcmp(keyword, "Raw profile type APP1");

    if (raw && !s->raw)
        s->raw = exif_orientation_text(text, len);
    else if (!strcmp(keyword, "XML:com.adobe.xmp") && !s->xmp)
        s->xmp = exif_orientation_xmp(text, len);
}

/* Same for deflated text, up to 1 MiB of it. */
static void text_compressed(struct png_text *s, const char *keyword, const uint8_t *data,
                            size_t len)
{
    enum { MAX_TEXT = 1 << 20 };
    struct libdeflate_decompressor *inflate = libdeflate_alloc_decompressor();
    uint8_t *text = xmalloc(MAX_TEXT);
    size_t got;

    if (inflate && libdeflate_zlib_decompress(inflate, data, len, text, MAX_TEXT, &got) ==
                       LIBDEFLATE_SUCCESS)
        text_plain(s, keyword, text, got);
    libdeflate_free_decompressor(inflate);
    free(text);
}

/* tEXt: keyword, 0, text; zTXt: keyword, 0, method, deflated text; iTXt: keyword, 0,
 * deflated or not, method, language, 0, translated keyword, 0, text. */
static void text_chunk(struct png_text *s, const uint8_t *kind, const uint8_t *data,
                       size_t len)
{
    const uint8_t *zero = memchr(data, 0, len), *end = data + len, *ptr;
    bool packed = !memcmp(kind, "zTXt", 4);

    if (!zero)
        return;
    ptr = zero + 1 + packed;
    if (!memcmp(kind, "iTXt", 4)) {
        packed = end - zero > 1 && zero[1] != 0;
        ptr = end - zero > 3 ? memchr(zero + 3, 0, (size_t)(end - zero - 3)) : NULL;
        ptr = ptr ? memchr(ptr + 1, 0, (size_t)(end - ptr - 1)) : NULL;
        ptr = ptr ? ptr + 1 : end + 1;
    }
    if (ptr <= end)
        (packed ? text_compressed : text_plain)(s, (const char *)data, ptr,
                                                (size_t)(end - ptr));
}

int png_chunks_orientation(const uint8_t *d, size_t len)
{
    struct png_text s = {0};

    for (size_t pos = 8, n; pos + 12 <= len; pos += 12 + n) {
        const uint8_t *kind = d + pos + 4;

        n = big_endian(d + pos);
        if (n > len - pos - 12)
            break;
        if (!memcmp(kind, "eXIf", 4) && !s.exif)
            s.exif = exif_orientation(kind + 4, n);
        else if (!memcmp(kind, "tEXt", 4) || !memcmp(kind, "zTXt", 4) ||
                 !memcmp(kind, "iTXt", 4))
            text_chunk(&s, kind, kind + 4, n);
    }
    return s.exif ? s.exif : s.raw ? s.raw : s.xmp;
}
