/* Image records of MXNet, and their index in front. */
#include "fuzz.h"

extern const struct container container_recordio;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(&container_recordio, ".idx", data, size);
    return 0;
}
