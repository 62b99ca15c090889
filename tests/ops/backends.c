#include "tests/ops/backends.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "session/devices.h"
#include "tests/test.h"

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

bool row_wanted(const struct op_case *row)
{
    const char *pattern = getenv("TEST_ROWS");

    return !pattern || !fnmatch(pattern, row->name, 0);
}

void assert_enough(bool enough)
{
    assert_true(enough || getenv("TEST_ROWS"));
}
