#include "tests/ops/backends.h"

#include <stdlib.h>
#include <string.h>

#include "session/devices.h"

bool backend_wanted(const struct backend *backend)
{
    const char *at = getenv("TEST_BACKENDS"), *name = backend->name;

    if (!at || !*at)
        return device_available(backend, 0, NULL);
    while (*at) {
        size_t n = strcspn(at, " ");

        if (n == strlen(name) && !strncmp(at, name, n))
            return true;
        at += n + (at[n] != 0);
    }
    return false;
}

const char *test_device(void)
{
    const char *device = getenv("TEST_DEVICE");

    return device && *device ? device : "ref";
}
