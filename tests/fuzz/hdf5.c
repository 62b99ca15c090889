/* HDF5 files. */
#include "fuzz.h"

extern const struct container container_hdf5;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_container(&container_hdf5, NULL, data, size);
    return 0;
}
