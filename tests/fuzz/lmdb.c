/* LMDB files. */
#include "fuzz.h"

extern const struct container container_lmdb;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(&container_lmdb, NULL, data, size);
    return 0;
}
