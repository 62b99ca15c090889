/* A weights file: reads each tensor. */
#include "fuzz.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "io/weights_file.h"

enum { MOST = 1 << 20 }; /* bytes of a tensor: a view of a small storage can be large */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf why = STRBUF_INIT;
    struct weights_file f;

    if (!weights_file_open(&f, fuzz_file(data, size), size % 2, &why)) {
        for (size_t i = 0; i < f.n && i < 64; i++) {
            const struct safetensors_tensor *t = &f.tensor[i];
            void *dst;

            fuzz_expect(weights_file_find(&f, t->name) == t, "a tensor has its name");
            if (t->size > MOST)
                continue;
            dst = xmalloc(t->size);
            (void)weights_file_read(&f, t, dst, &why);
            free(dst);
        }
        (void)weights_file_verify(&f, &why);
    } else {
        fuzz_expect(why.len > 0, "a refusal has a reason");
    }
    weights_file_close(&f);
    strbuf_release(&why);
    return 0;
}
