/* Decoded pixels. Checksums within the file are corrected, otherwise no fuzzed input
 * would get past them; inputs of odd size are left unchanged. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/alloc.h"
#include "dataset/decoded.h"

extern const struct container container_decoded;

static void part_right(const uint8_t *file, size_t size, struct decoded_part *p)
{
    if (p->offset <= size && p->len <= size - p->offset)
        p->sum = XXH3_64bits(file + p->offset, p->len);
}

static void make_right(uint8_t *file, size_t size)
{
    struct decoded_head h;

    if (size < sizeof(h))
        return;
    memcpy(&h, file, sizeof(h));
    if (h.rows > size || h.n > (size - h.rows) / sizeof(struct decoded_row))
        return;
    for (uint64_t i = 0; i < h.n; i++) {
        uint8_t *ptr = file + h.rows + i * sizeof(struct decoded_row);
        struct decoded_row row;

        memcpy(&row, ptr, sizeof(row));
        part_right(file, size, &row.image);
        part_right(file, size, &row.label_map);
        memcpy(ptr, &row, sizeof(row));
    }
    h.sum = XXH3_64bits(file + h.rows, h.n * sizeof(struct decoded_row));
    memcpy(file, &h, sizeof(h));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = xmalloc(size + 1);

    memcpy(copy, data, size);
    if (size % 2 == 0)
        make_right(copy, size);
    fuzz_container(&container_decoded, NULL, copy, size);
    free(copy);
    return 0;
}
