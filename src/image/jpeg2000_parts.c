#include "image/jpeg2000_parts.h"

#include <stdbool.h>
#include <string.h>

enum {
    MARK_START = 0xff4f,
    MARK_SIZE = 0xff51,
    MARK_CODING = 0xff52, /* COD */
    MARK_PART = 0xff90,
    MARK_END = 0xffd9,
    BOX_STREAM = 0x6a703263, /* "jp2c" */
    MAX_TILES = 65535,       /* maximum per codestream */
    PART_HEAD = 12,
    WAVELET = 13,  /* byte of COD: 0 is the irreversible one */
    SIZE_HEAD = 38 /* SIZ, up to the size and position of tiles */
};

struct codestream {
    const uint8_t *d;
    size_t offset, len;
    bool lossy;
    uint64_t tiles, seen; /* number of tiles, and of those with at least one part */
    uint8_t met[MAX_TILES / 8 + 1];
};

static uint64_t number(const uint8_t *d, int bytes)
{
    uint64_t v = 0;

    while (bytes--)
        v = v << 8 | *d++;
    return v;
}

static int cut_off(struct strbuf *why)
{
    strbuf_addstr(why, "the file is cut off");
    return -1;
}

/* Finds the codestream in a file of boxes. */
static int find_stream(const uint8_t *d, size_t len, struct codestream *s,
                       struct strbuf *why)
{
    uint64_t offset = 0, n, head;

    for (;; offset += n) {
        if (len - offset < 8)
            return cut_off(why);
        n = number(d + offset, 4);
        head = n == 1 ? 16 : 8;
        if (len - offset < head)
            return cut_off(why);
        if (n == 1)
            n = number(d + offset + 8, 8);
        if (n == 0) /* extends to the end */
            n = len - offset;
        if (n > len - offset)
            return cut_off(why);
        if (n < head) {
            strbuf_addf(why, "damaged: a box of %llu bytes", (unsigned long long)n);
            return -1;
        }
        if (number(d + offset + 4, 4) == BOX_STREAM)
            break;
    }
    s->d = d + offset + head;
    s->len = n - head;
    return 0;
}

static uint64_t tiles_along(uint64_t end, uint64_t begin, uint64_t size)
{
    return size && end > begin ? (end - begin + size - 1) / size : 0;
}

/* Reads the number of tiles from SIZ. */
static void count_tiles(struct codestream *s, const uint8_t *size)
{
    uint64_t w = number(size + 6, 4), h = number(size + 10, 4);
    uint64_t tw = number(size + 22, 4), th = number(size + 26, 4);
    uint64_t tx = number(size + 30, 4), ty = number(size + 34, 4);

    s->tiles = tiles_along(w, tx, tw) * tiles_along(h, ty, th);
}

/* Skips to the first tile-part. */
static int main_header(struct codestream *s, struct strbuf *why)
{
    s->offset = 2;
    for (;;) {
        uint64_t mark, n;

        if (s->len < s->offset || s->len - s->offset < 4)
            return cut_off(why);
        mark = number(s->d + s->offset, 2);
        if (mark == MARK_PART || mark == MARK_END)
            return 0;
        n = 2 + number(s->d + s->offset + 2, 2);
        if (n > s->len - s->offset)
            return cut_off(why);
        if (mark == MARK_SIZE && n >= SIZE_HEAD)
            count_tiles(s, s->d + s->offset);
        if (mark == MARK_CODING && n > WAVELET)
            s->lossy = s->d[s->offset + WAVELET] == 0;
        s->offset += n;
    }
}

/* Skips the tile-part at s->at. */
static int tile_part(struct codestream *s, struct strbuf *why)
{
    uint64_t tile, n;

    if (s->len - s->offset < PART_HEAD)
        return cut_off(why);
    tile = number(s->d + s->offset + 4, 2);
    n = number(s->d + s->offset + 6, 4);
    if (n == 0) /* the last one: extends to the end mark */
        n = s->len - s->offset - 2;
    if (n < PART_HEAD) {
        strbuf_addf(why, "damaged: a part of a tile of %llu bytes",
                    (unsigned long long)n);
        return -1;
    }
    if (n > s->len - s->offset)
        return cut_off(why);
    if (tile < s->tiles && !(s->met[tile / 8] >> tile % 8 & 1)) {
        s->met[tile / 8] |= (uint8_t)(1 << tile % 8);
        s->seen++;
    }
    s->offset += n;
    return 0;
}

static int begin(struct codestream *s, struct strbuf *why)
{
    bool boxes = s->len < 2 || number(s->d, 2) != MARK_START;

    if (boxes && find_stream(s->d, s->len, s, why) < 0)
        return -1;
    return main_header(s, why);
}

bool jpeg2000_parts_lossy(const uint8_t *d, size_t len)
{
    struct codestream s = {.d = d, .len = len};
    struct strbuf unused = STRBUF_INIT;
    int rc = begin(&s, &unused);

    strbuf_release(&unused);
    return rc == 0 && s.lossy;
}

int jpeg2000_parts_check(const uint8_t *d, size_t len, struct strbuf *why)
{
    struct codestream s = {.d = d, .len = len};

    if (begin(&s, why) < 0)
        return -1;
    for (;;) {
        uint64_t mark;

        if (s.len - s.offset < 2)
            return cut_off(why);
        mark = number(s.d + s.offset, 2);
        if (mark == MARK_END)
            break;
        if (mark != MARK_PART) {
            strbuf_addf(why, "damaged: %04llx where a part of a tile begins",
                        (unsigned long long)mark);
            return -1;
        }
        if (tile_part(&s, why) < 0)
            return -1;
    }
    if (s.seen == s.tiles)
        return 0;
    strbuf_addf(why, "damaged: of %llu tiles %llu are not there",
                (unsigned long long)s.tiles, (unsigned long long)(s.tiles - s.seen));
    return -1;
}
