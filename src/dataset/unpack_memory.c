#include "dataset/unpack_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

static void *unpack_alloc(void *failed, size_t size)
{
    void *p = malloc(size);

    if (!p && size)
        *(bool *)failed = true;
    return p;
}

static void unpack_free(void *failed, void *p)
{
    (void)failed;
    free(p);
}

struct unpack_memory unpack_memory(bool *failed)
{
    *failed = false;
    return (struct unpack_memory){{unpack_alloc, unpack_free, failed}, failed};
}

int unpack_failure(const struct unpack_memory *m, const char *damaged, struct strbuf *why)
{
    strbuf_addstr(why, *m->failed ? strerror(ENOMEM) : damaged);
    return *m->failed ? FAILURE_MACHINE : FAILURE_DATA;
}
