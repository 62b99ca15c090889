#include "tests/ops/backends.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "session/devices.h"
#include "tests/test.h"

bool backend_wanted(const struct backend *backend)
{
    const char *cursor = getenv("TEST_BACKENDS"), *name = backend->name;

    if (!cursor || !*cursor)
        return device_available(backend, 0, NULL);
    while (*cursor) {
        size_t n = strcspn(cursor, " ");

        if (n == strlen(name) && !strncmp(cursor, name, n))
            return true;
        cursor += n + (cursor[n] != 0);
    }
    return false;
}

const char *test_device(void)
{
    const char *device = getenv("TEST_DEVICE");

    return device && *device ? device : "ref";
}

/* True if it comes after the row that TEST_AFTER names. */
static bool late_enough(const struct op_case *row)
{
    const char *after = getenv("TEST_AFTER");
    const struct op_case *item;

    if (!after)
        return true;
    for (int i = 0; (item = op_case_at(i)) && item != row; i++)
        if (!strcmp(item->name, after))
            return true;
    return false;
}

bool row_wanted(const struct op_case *row)
{
    const char *pattern = getenv("TEST_ROWS");

    if (row->slow && getenv("TEST_NO_SLOW"))
        return false;
    return (!pattern || !fnmatch(pattern, row->name, 0)) && late_enough(row);
}

const struct op_case *row_named(const char *name)
{
    const struct op_case *row;

    for (int i = 0; (row = op_case_at(i)); i++)
        if (!strcmp(row->name, name))
            return row;
    fail_msg("no row '%s'", name);
    return NULL;
}

void assert_enough(bool enough)
{
    assert_true(enough || getenv("TEST_ROWS") || getenv("TEST_AFTER"));
}
