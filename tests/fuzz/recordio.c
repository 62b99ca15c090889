/* MXNet's image records, preceded by their index. */
#include "fuzz.h"

extern const struct container container_recordio;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(&container_recordio, ".idx", data, size);
    return 0;
}
