#include "base/failure.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool failure_passes(int err)
{
    static const int passing[] = {EIO,       ESTALE,      EMFILE, ENFILE,      ENOMEM,
                                  EAGAIN,    ETIMEDOUT,   EBUSY,  ENOTCONN,    EREMOTEIO,
                                  ENOBUFS,   ENETDOWN,    ENOLCK, ENETUNREACH, EINTR,
                                  EHOSTDOWN, EHOSTUNREACH};

    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        if (passing[i] == err)
            return true;
    return false;
}

int failure_of_memory(size_t bytes, struct strbuf *why)
{
    void *volatile p = malloc(bytes); /* volatile: the pair would be optimized away */

    if (p) {
        free(p);
        return FAILURE_DATA;
    }
    strbuf_reset(why);
    strbuf_addstr(why, strerror(ENOMEM));
    return FAILURE_MACHINE;
}
