#include "base/failure.h"

#include <errno.h>
#include <stddef.h>
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

int failure_of_library(int rc, struct strbuf *why)
{
    int err = errno;

    if (rc != FAILURE_DATA || !failure_passes(err))
        return rc;
    strbuf_reset(why);
    strbuf_addstr(why, strerror(err));
    return FAILURE_MACHINE;
}
