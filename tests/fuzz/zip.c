/* A zip archive, preceded by Swin's map of it. */
#include "fuzz.h"

extern const struct container container_zip;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(&container_zip, "_map.txt", data, size);
    return 0;
}
