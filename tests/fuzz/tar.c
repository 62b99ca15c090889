/* Tar archives. */
#include "fuzz.h"

extern const struct container container_tar;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(&container_tar, NULL, data, size);
    return 0;
}
