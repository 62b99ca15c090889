#include "base/failure.h"

#include <errno.h>
#include <stddef.h>

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
