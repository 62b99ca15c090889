#include "train/devices.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cpu/backend.h"
#include "ops/reference.h"
#ifdef WITH_CUDA
#include "cuda/backend.h"
#endif

const struct backend *const device_table[] = {
    &backend_cpu,
    &backend_ref,
#ifdef WITH_CUDA
    &backend_cuda,
#endif
    NULL,
};

const struct backend *device_find(const char *device, int *index)
{
    size_t len = strcspn(device, ":");

    *index = device[len] ? (int)strtol(device + len + 1, NULL, 10) : 0;
    if (!strcmp(device, "auto"))
        return device_table[0];
    for (int i = 0; device_table[i]; i++)
        if (strlen(device_table[i]->name) == len &&
            !strncmp(device_table[i]->name, device, len))
            return device_table[i];
    die("this build of trainc has no device '%s': take cpu (see trainc devices)", device);
}
