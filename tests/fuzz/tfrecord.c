/* TFRecords. If a record fits, its checksums are corrected, otherwise no fuzzed input
 * would get past them; inputs of odd size are left unchanged. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/crc32c.h"

extern const struct container container_tfrecord;

enum { HEAD = 12, TAIL = 4 };

static void put(uint8_t *dst, uint32_t v)
{
    memcpy(dst, &v, sizeof(v));
}

static void make_right(uint8_t *p, size_t size)
{
    uint64_t len;

    for (; size >= HEAD + TAIL; p += HEAD + len + TAIL, size -= HEAD + len + TAIL) {
        memcpy(&len, p, sizeof(len));
        put(p + sizeof(len), crc32c_masked(p, sizeof(len)));
        if (len > size - HEAD - TAIL)
            return;
        put(p + HEAD + len, crc32c_masked(p + HEAD, len));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = xmalloc(size + 1);

    memcpy(copy, data, size);
    if (size % 2 == 0)
        make_right(copy, size);
    fuzz_container(&container_tfrecord, NULL, copy, size);
    free(copy);
    return 0;
}
