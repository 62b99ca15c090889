#include "cuda/python_library.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

/* site-packages; Debian's own Python has dist-packages, without a version in the path. */
static const char *const packages[] = {"lib/python3*/site-packages",
                                       "lib/python3*/dist-packages",
                                       "local/lib/python3*/dist-packages"};

/* Searches below prefix/, whose length is `len` bytes. */
static char *look_below(const char *prefix, size_t len, const char *soname)
{
    char *found = NULL;

    for (size_t i = 0; i < sizeof(packages) / sizeof(packages[0]) && !found; i++) {
        char *pattern =
            xasprintf("%.*s/%s/nvidia/*/lib/%s", (int)len, prefix, packages[i], soname);
        glob_t g = {0};

        if (!glob(pattern, 0, NULL, &g) && g.gl_pathc > 0)
            found = xstrdup(g.gl_pathv[0]);
        globfree(&g);
        free(pattern);
    }
    return found;
}

static char *look_in(const char *variable, const char *sub, const char *soname)
{
    const char *value = getenv(variable);
    char *prefix, *found;

    if (!value || !*value)
        return NULL;
    prefix = xasprintf("%s%s", value, sub);
    found = look_below(prefix, strlen(prefix), soname);
    free(prefix);
    return found;
}

/* PREFIX/bin/python3 has its packages below PREFIX. */
static char *look_in_path(const char *soname)
{
    const char *cursor = getenv("PATH");
    char *found = NULL;

    while (cursor && *cursor && !found) {
        size_t len = strcspn(cursor, ":");
        char *python = xasprintf("%.*s/python3", (int)len, cursor);
        size_t prefix = len > 4 && !strncmp(cursor + len - 4, "/bin", 4) ? len - 4 : 0;

        if (prefix && !access(python, X_OK))
            found = look_below(cursor, prefix, soname);
        free(python);
        cursor += len;
        cursor += *cursor == ':';
    }
    return found;
}

char *python_library(const char *soname)
{
    char *found = look_in("VIRTUAL_ENV", "", soname);

    if (!found)
        found = look_in("CONDA_PREFIX", "", soname);
    if (!found)
        found = look_in_path(soname);
    return found ? found : look_in("HOME", "/.local", soname);
}
