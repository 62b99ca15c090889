/* Stored class counts. Inputs of even size get the file's first line with the right
 * key. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "dataset/histogram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf text = STRBUF_INIT;
    struct histogram h;
    int64_t total = 0;

    if (size % 2 == 0)
        strbuf_addstr(&text, "trainc class histogram 1 key 0000000000000007\n");
    strbuf_add(&text, data, size);
    if (histogram_load(&h, fuzz_file(text.buf, text.len), 7)) {
        for (int v = 0; v < 256; v++) {
            fuzz_expect(h.count[v] >= 0, "a count is none below 0");
            total += h.count[v];
        }
        fuzz_expect(h.cached && total == h.total, "the sum is that of the counts");
    }
    strbuf_release(&text);
    return 0;
}
